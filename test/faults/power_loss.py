"""Power loss: what the shim writes to its trace's files is logged; then the files are made as a disk may
leave them when the power goes after any of those operations. What was not synced by then is lost, or there,
or some of it is, torn at sectors. Rings are in memory: they are gone, too."""
import pathlib
import random
import sqlite3
import struct
import sys
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
import box  # noqa: E402
import preload  # noqa: E402
from oracle import C_HOST  # noqa: E402

RECORD = struct.Struct("<IIqqq")
WRITE, TRUNCATE, SYNC, UNLINK = range(1, 5)
SUFFIXES = ("", "-wal", "-journal")
SECTOR = 512
SUBSETS = ("none", "all", "some")
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
        self.synced, self.since = None, []

    def do(self, operation):
        if operation.op == SYNC:
            self.synced, self.since = self.left("all", None), []
        else:
            self.since.append(operation)

    def keep_unlinks(self):
        """Another file was synced: a journaling file system then has what was done to the folder before."""
        unlinks = [i for i, operation in enumerate(self.since) if operation.op == UNLINK]
        if unlinks:
            self.synced, self.since = None, self.since[unlinks[-1] + 1:]

    def left(self, subset, chance):
        content = self.synced
        for operation in self.since:
            if subset == "none" or (subset == "some" and chance.random() < 0.5):
                continue
            content = done(operation, content, subset == "some" and chance)
        return content


def done(operation, content, torn):
    if operation.op == UNLINK:
        return None
    content = bytearray(content or b"")
    if operation.op == TRUNCATE:
        content[operation.at:] = bytes(max(0, operation.at - len(content)))
        return content
    end = operation.at + len(operation.data)
    content.extend(bytes(max(0, end - len(content))))
    for sector in range(0, len(operation.data), SECTOR):
        if torn and torn.random() < 0.1:
            continue
        data = operation.data[sector:sector + SECTOR]
        content[operation.at + sector:operation.at + sector + len(data)] = data
    return content


class Disk:
    def __init__(self):
        self.files = [File() for _ in SUFFIXES]

    def do(self, operation):
        self.files[operation.file].do(operation)
        for file in self.files if operation.op == SYNC else ():
            file.keep_unlinks()

    def leave(self, path, subset, chance):
        for suffix, file in zip(SUFFIXES, self.files):
            target = pathlib.Path(f"{path}{suffix}")
            content = file.left(subset, chance)
            if content is None:
                target.unlink(missing_ok=True)
            else:
                target.write_bytes(content)
        pathlib.Path(f"{path}-shm").unlink(missing_ok=True)


class Losses(NamedTuple):
    operations: int
    disks: int  # that were left, each in one of the three ways
    unmade: int  # the trace was not on the disk yet, or had no tables
    reports: int
    most_lost_ns: int  # before the power went
    complaints: list


class Left(NamedTuple):
    """What a trace holds: times of its events, in order, and whether it says that these are all."""

    events: list
    ended: bool


NOT_MADE = Left([], False)


def read(path):
    """Opened like anybody's file, to write."""
    base = sqlite3.connect(path)
    try:
        whole = base.execute("PRAGMA integrity_check").fetchone()[0]
        if whole != "ok":
            raise sqlite3.DatabaseError(whole)
        if not base.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
            return NOT_MADE
        ended = base.execute("SELECT value <> 'no' FROM meta WHERE key = 'ended'").fetchone()[0]
        return Left(sorted(row[0] for row in base.execute(EVENTS)), bool(ended))
    finally:
        base.close()


def report_of(path):
    """What is wrong with what the analyzer says of it."""
    done = box.run([preload.ANALYZER, "report", path], sim=False)
    if done.returncode == 0 and "has no end" in done.stdout:
        return []
    return [f"the report: {done.returncode} {done.stdout[:200]} {done.stderr}"]


def replay(folder, milliseconds, every, report_every, seed=1):
    """Every so many operations the power goes, in three ways; of some the analyzer is asked."""
    trace, operations = record(folder, milliseconds)
    truth = read(trace).events
    chance, disk, path = random.Random(seed), Disk(), folder / "left.db"
    complaints, disks, unmade, reports, most_ns = [], 0, 0, 0, 0
    for number, operation in enumerate(operations, 1):
        disk.do(operation)
        if number % every:
            continue
        for subset in SUBSETS:
            disks += 1
            disk.leave(path, subset, chance)
            try:
                left = read(path)
            except sqlite3.Error as error:
                # Never synced: a file that is being made may be anything.
                left, wrong = NOT_MADE, [] if disk.files[0].synced is None else [str(error)]
            else:
                wrong = judged(left, truth, operation.mono_ns)
            unmade += left is NOT_MADE
            most_ns = max(most_ns, lost_ns(truth, left.events, operation.mono_ns))
            if disks % report_every == 0 and left is not NOT_MADE and not left.ended:
                reports += 1
                wrong += report_of(path)
            where = f"after {number} of {len(operations)} operations, {subset} of what was not synced"
            complaints += [f"{where}: {what}" for what in wrong]
    return Losses(len(operations), disks, unmade, reports, most_ns, complaints)


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
