#!/usr/bin/env python3
"""Power loss: what the shim writes to its trace's files is logged; then the files are made as a disk may
leave them when the power goes after any of those operations. What was not synced by then is lost, or there,
or some of it is, torn at sectors. Rings are in memory: they are gone, too.

    test/faults/power_loss.py [MILLISECONDS] [SEED]    all operations of so long a life (12000)
"""
import os
import pathlib
import random
import sqlite3
import struct
import sys
import tempfile
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "tools"))
import box  # noqa: E402
import preload  # noqa: E402
from errors import MEMORY  # noqa: E402
from oracle import C_HOST  # noqa: E402

RECORD = struct.Struct("<IIqqq")
WRITE, TRUNCATE, SYNC, UNLINK = range(1, 5)
SUFFIXES = ("", "-wal", "-journal")
SECTOR = 512
CLOSING = 15  # operations at the end: the file is put into the state in which it rests
FEW = 32  # sectors: each of them is lost alone
LOSS_NS = 2_000_000_000
EVENTS = "SELECT enter_ns FROM copy UNION ALL SELECT enter_ns FROM memory"


class Operation(NamedTuple):
    op: int
    file: int
    at: int
    mono_ns: int
    data: bytes


def read_log(path):
    log, operations, at = path.read_bytes(), [], 0
    while at < len(log):
        op, file, where, size, mono_ns = RECORD.unpack_from(log, at)
        at += RECORD.size
        operations.append(Operation(op, file, where, mono_ns, log[at:at + size]))
        at += size
    return operations


def record(folder, milliseconds):
    """Runs the host; its trace, and what was done to that."""
    library = preload.compiled((HERE / "interposers/logs.c").read_text(encoding="utf-8"),
                               folder / "logs.so", "-shared", "-fPIC")
    trace, log = folder / "trace.db", folder / "log"
    done = box.run([C_HOST, "beats", milliseconds],
                   {"LD_PRELOAD": f"{preload.SHIM}:{library}", "GPUSHIM_OUT": trace, "LOG_OF": trace,
                    "LOG_INTO": log, "GPUSHIM_MIN_FREE_MB": 0}, cwd=folder)
    if (done.returncode, done.stdout, done.stderr) != (0, "over\n", ""):
        raise AssertionError(done)
    return trace, read_log(log)


class File:
    """What is on the disk for sure, and what was done since; None is a file that is not there."""

    def __init__(self):
        self.synced, self.since, self.was_there = None, [], False

    def do(self, operation):
        self.was_there = True
        if operation.op == SYNC:
            self.synced, self.since = self.left(ALL), []
        else:
            self.since.append(operation)

    def folder_is_synced(self):
        """A file that is gone is gone for sure then."""
        unlinks = [i for i, operation in enumerate(self.since) if operation.op == UNLINK]
        if unlinks:
            self.synced, self.since = None, self.since[unlinks[-1] + 1:]

    def left(self, which):
        content = self.synced
        for index, operation in enumerate(self.since):
            if which.keeps(self, index):
                content = done(operation, content, lambda sector, at=index: which.keeps(self, at, sector))
            elif operation.op == UNLINK:
                break  # what was done since was done to another file, which has no name then
        return content


class All:
    """All of what was not synced is there. `keeps`: of a file's operation, or of one of its sectors."""

    def keeps(self, file, index, sector=None):
        return True


class Nothing:
    def keeps(self, file, index, sector=None):
        return False


class Some:
    """Half of the operations, and of those a tenth of the sectors is missing."""

    def __init__(self, chance):
        self.chance = chance

    def keeps(self, file, index, sector=None):
        return self.chance.random() < (0.5 if sector is None else 0.9)


class AllBut:
    """One sector is missing, or one removal."""

    def __init__(self, file, index, sector):
        self.missing = (file, index, sector)

    def keeps(self, file, index, sector=None):
        return (file, index, sector) != self.missing


ALL = All()


def done(operation, content, keeps_sector):
    if operation.op == UNLINK:
        return None
    content = bytearray(content or b"")
    if operation.op == TRUNCATE:
        content[operation.at:] = bytes(max(0, operation.at - len(content)))
        return content
    end = operation.at + len(operation.data)
    content.extend(bytes(max(0, end - len(content))))
    for sector in range(0, len(operation.data), SECTOR):
        if keeps_sector(sector):
            data = operation.data[sector:sector + SECTOR]
            content[operation.at + sector:operation.at + sector + len(data)] = data
    return content


class Disk:
    def __init__(self):
        self.files = [File() for _ in SUFFIXES]

    def do(self, operation):
        if operation.file < len(self.files):
            self.files[operation.file].do(operation)
        else:
            for file in self.files:
                file.folder_is_synced()

    def leave(self, path, which):
        for suffix, file in zip(SUFFIXES, self.files):
            target = pathlib.Path(f"{path}{suffix}")
            content = file.left(which)
            if content is None:
                target.unlink(missing_ok=True)
            else:
                target.write_bytes(content)
        pathlib.Path(f"{path}-shm").unlink(missing_ok=True)

    def single_losses(self):
        """All that may be missing alone, where that is not much."""
        parts = [(file, index, sector) for file in self.files for index, operation in enumerate(file.since)
                 for sector in (range(0, len(operation.data), SECTOR) if operation.data else [None])]
        return [AllBut(*part) for part in parts] if len(parts) <= FEW else []


class Losses(NamedTuple):
    operations: int
    disks: int  # that were left, each in one of the three ways
    unmade: int  # the trace was not on the disk yet, or was not anybody's
    reports: int
    most_lost_ns: int  # before the power went
    complaints: list


class Left(NamedTuple):
    """What a trace holds: times of its events, in order, and whether it says that these are all."""

    events: list
    ended: bool


NOT_MADE = Left([], False)


def read(path, **how):
    """Opened like anybody's file, to write, unless `how` says otherwise."""
    base = sqlite3.connect(path, **how)
    try:
        whole = base.execute("PRAGMA integrity_check").fetchone()[0]
        if whole != "ok":
            raise sqlite3.DatabaseError(whole)
        if not base.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
            return NOT_MADE
        ended = base.execute("SELECT value <> 'no' FROM meta WHERE key = 'ended'").fetchone()
        if ended is None:
            return NOT_MADE  # it has tables, and does not say yet whose it is
        return Left(sorted(row[0] for row in base.execute(EVENTS)), bool(ended[0]))
    finally:
        base.close()


def report_of(path):
    """What is wrong with what the analyzer says of it."""
    done = box.run([preload.ANALYZER, "report", path], sim=False)
    if done.returncode == 0 and "has no end" in done.stdout:
        return []
    return [f"the report: {done.returncode} {done.stdout[:200]} {done.stderr}"]


class Replay:
    """Every so many operations the power goes, in several ways; of some the analyzer is asked."""

    def __init__(self, folder, milliseconds, seed=1):
        trace, self.operations = record(folder, milliseconds)
        self.truth = read(trace).events
        self.chance, self.disk, self.path = random.Random(seed), Disk(), folder / "left.db"
        self.disks = self.unmade = self.reports = self.most_ns = 0
        self.complaints = []

    def run(self, every, report_every):
        for number, operation in enumerate(self.operations, 1):
            self.disk.do(operation)
            if number % every and number <= len(self.operations) - CLOSING:
                continue
            ways = {"nothing": Nothing(), "all": ALL, "some": Some(self.chance)}
            ways.update((f"all but {n}", one) for n, one in enumerate(self.disk.single_losses()))
            for name, which in ways.items():
                where = f"after {number} of {len(self.operations)} operations, {name} of what was not synced"
                self.complaints += [f"{where}: {what}" for what in self.lose(which, operation, report_every)]
        return Losses(len(self.operations), self.disks, self.unmade, self.reports, self.most_ns,
                      self.complaints)

    def lose(self, which, operation, report_every):
        """What is wrong with what is left."""
        self.disks += 1
        self.disk.leave(self.path, which)
        refused = self.refused_to_readers() if which is ALL else []
        try:
            left = read(self.path)
        except sqlite3.Error as error:
            # Never synced: a file that is being made may be anything.
            left, wrong = NOT_MADE, [] if self.disk.files[0].synced is None else [str(error)]
        else:
            wrong = judged(left, self.truth, operation.mono_ns)
        self.unmade += left is NOT_MADE
        self.most_ns = max(self.most_ns, lost_ns(self.truth, left.events, operation.mono_ns))
        if self.disks % report_every == 0 and left is not NOT_MADE and not left.ended:
            self.reports += 1
            wrong += report_of(self.path)
        return refused + wrong

    def refused_to_readers(self):
        """All is there: the process alone has gone, as one does whose exit takes too long. Once the trace has
        its log, who may not write reads it, too."""
        if not self.disk.files[SUFFIXES.index("-wal")].was_there:
            return []
        try:
            read(f"file:{self.path}?mode=ro", uri=True)
        except sqlite3.Error as error:
            return [f"for a reader: {error}"]
        return []


def judged(left, truth, now_ns):
    wrong, lost = [], lost_ns(truth, left.events, now_ns)
    if lost > LOSS_NS:
        wrong.append(f"what was {lost / 1e9:.3f} s old is lost")
    if left.events != truth[:len(left.events)]:
        wrong.append("not a beginning of the trace")
    if left.ended and left.events != truth:
        wrong.append("it says that it is whole")
    return wrong


def lost_ns(truth, there, now_ns):
    """How long before the power went the first event was that is not there."""
    first = truth[len(there)] if len(there) < len(truth) else now_ns
    return max(0, now_ns - first)


def main():
    os.environ.setdefault("GPUSIM_BOX", f"power-{os.getpid()}")
    milliseconds, seed = [*map(int, sys.argv[1:]), *(12_000, 1)[len(sys.argv) - 1:]]
    with tempfile.TemporaryDirectory(prefix="gpushim-power-", dir=MEMORY) as folder:
        losses = Replay(pathlib.Path(folder), milliseconds, seed).run(every=1, report_every=100)
    for complaint in losses.complaints:
        print("FAILED", complaint)
    print(losses._replace(complaints=len(losses.complaints)))
    return 1 if losses.complaints else 0


if __name__ == "__main__":
    sys.exit(main())
