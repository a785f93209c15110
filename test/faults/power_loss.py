"""Power loss: what the shim writes to its trace's files is logged; then the files are made as a disk may leave
them when the power goes after any of those operations. What was not synced by then is lost, or there, or some of
it is, torn at sectors. Rings are in memory: they are gone, too."""
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
    disks: int
    empty: int  # the trace was not on the disk yet, or had no tables
    most_ns: int  # lost before the power went
    complaints: list


def events_of(path):
    """Times of its events, in order; None: it has no tables yet. Opened like anybody's file, to write."""
    base = sqlite3.connect(path)
    try:
        whole = base.execute("PRAGMA integrity_check").fetchone()[0]
        if whole != "ok":
            raise sqlite3.DatabaseError(whole)
        if not base.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
            return None
        return sorted(row[0] for row in base.execute(EVENTS))
    finally:
        base.close()


def replay(folder, milliseconds, every, seed=1):
    """Every so many operations the power goes, in three ways."""
    trace, operations = record(folder, milliseconds)
    truth = events_of(trace)
    chance, disk, path = random.Random(seed), Disk(), folder / "left.db"
    complaints, disks, empty, most_ns = [], 0, 0, 0
    for number, operation in enumerate(operations, 1):
        disk.do(operation)
        if number % every:
            continue
        for subset in SUBSETS:
            disks += 1
            disk.leave(path, subset, chance)
            where = f"after {number} of {len(operations)} operations, {subset} of what was not synced"
            try:
                there = events_of(path)
            except sqlite3.Error as error:
                if disk.files[0].synced is not None:
                    complaints.append(f"{where}: {error}")
                    continue
                there = None  # never synced: a file that is being made may be anything
            empty += there is None
            lost = lost_ns(truth, there or [], operation.mono_ns)
            most_ns = max(most_ns, lost)
            if lost > LOSS_NS:
                complaints.append(f"{where}: what was {lost / 1e9:.3f} s old is lost")
            if there and there != truth[:len(there)]:
                complaints.append(f"{where}: not a beginning of the trace")
    return Losses(len(operations), disks, empty, most_ns, complaints)


def lost_ns(truth, there, now_ns):
    """How long before the power went the first event was that is not there."""
    first = truth[len(there)] if len(there) < len(truth) else now_ns
    return max(0, now_ns - first)


def main():
    import tempfile
    with tempfile.TemporaryDirectory(prefix="gpushim-power-", dir="/dev/shm") as name:
        result = replay(pathlib.Path(name), int(sys.argv[1]), int(sys.argv[2]))
    for complaint in result.complaints[:int(sys.argv[3])]:
        print(complaint)
    print(result._replace(complaints=len(result.complaints)))


if __name__ == "__main__":
    main()
