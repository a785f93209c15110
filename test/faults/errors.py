"""Error simulation: the nth call of a kind that the shim makes fails, for n = 1 until a run is clean, once and
from then on. Whatever fails, the program is what it is without the shim, and says at most one line more; the
trace opens and its ledger holds, or there is none and one line says why."""
import ctypes
import os
import pathlib
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
import box  # noqa: E402
import preload  # noqa: E402
from oracle import C_HOST  # noqa: E402

MEMORY = pathlib.Path("/dev/shm")  # traces on a disk that costs nothing: thousands are made
ENOMEM, EAGAIN, EMFILE, EIO, ENOSPC, EINTR, SHORT = 12, 11, 24, 5, 28, 4, 0
KINDS = {
    "open": (EMFILE, ENOSPC),
    "write": (ENOSPC, EIO, SHORT),
    "sync": (EIO,),
    "fallocate": (ENOSPC,),
    "mmap": (ENOMEM,),
    "malloc": (ENOMEM,),
    "thread": (EAGAIN,),
}
JOBS = 2
LIMIT_S = 60


class Injection(NamedTuple):
    kind: str
    at: int
    on: str
    error: int

    def __str__(self):
        how = "short" if self.error == SHORT else os.strerror(self.error)
        return f"{self.kind} {self.at} {self.on} ({how})"


class Bench:
    """The programs, built once."""

    def __init__(self, folder):
        self.library = preload.compiled((HERE / "interposers/fails.c").read_text(encoding="utf-8"),
                                        folder / "fails.so", "-shared", "-fPIC")
        self.alone = self.run(folder, None)
        self.usual = {kind: self.try_one(Injection(kind, 0, "once", 0)) for kind in KINDS}

    def run(self, folder, injection):
        knobs = {"GPUSIM_CLOCK": "stepped", "GPUSHIM_MIN_FREE_MB": 0}
        if injection is not None:
            knobs.update({"LD_PRELOAD": f"{preload.SHIM}:{self.library}", "FAIL_KIND": injection.kind,
                          "GPUSHIM_OUT": f"{folder}/trace.db", "FAIL_AT": injection.at,
                          "FAIL_ON": injection.on, "FAIL_ERRNO": injection.error,
                          "FAIL_COUNTS": folder / "counts"})
            (folder / "counts").write_bytes(bytes(16))
        knobs["GPUSIM_BOX"] = f"{os.environ.get('GPUSIM_BOX', 'errors')}-{os.getpid()}"
        return box.run([C_HOST, "brief"], knobs, timeout=LIMIT_S, cwd=folder)

    def try_one(self, injection):
        """What came of it."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="gpushim-errors-", dir=MEMORY))
        try:
            return judged(folder, injection, self.run(folder, injection), self.alone)
        except subprocess.TimeoutExpired:
            return Outcome(injection, 0, 0, {}, ["it hung"])
        finally:
            shutil.rmtree(folder, ignore_errors=True)


class Outcome(NamedTuple):
    injection: Injection
    seen: int  # calls of that kind
    failed: int
    terms: dict  # of the ledger; none: there is no trace
    complaints: list
    said: str = ""


def recover(path):
    shim = ctypes.CDLL(str(preload.SHIM))
    shim.gpushim_recovery_failure.restype = ctypes.c_char_p
    if shim.gpushim_recover(str(path).encode()) == 0:
        return []
    return [f"recovery: {shim.gpushim_recovery_failure().decode()}"]


def judged(folder, injection, done, alone):
    complaints = []
    if (done.returncode, done.stdout) != (alone.returncode, alone.stdout):
        complaints.append(f"the program: {done.returncode} {done.stdout!r} {done.stderr!r}")
    if done.stderr.count("\n") > 1 or (done.stderr and not done.stderr.startswith("gpushim")):
        complaints.append(f"it said {done.stderr!r}")
    seen, failed = struct.unpack("<QQ", (folder / "counts").read_bytes())
    trace, terms = folder / "trace.db", {}
    if trace.exists():
        complaints += recover(trace)
        terms, more = opened(trace)
        complaints += more
    elif not done.stderr:
        complaints.append("no trace, and no word of it")
    if forget_rings(folder) and injection.on == "once":
        complaints.append("rings are left")
    return Outcome(injection, seen, failed, terms, complaints, done.stderr)


def opened(trace):
    try:
        base = sqlite3.connect(f"file:{trace}?mode=ro", uri=True)
        try:
            whole = base.execute("PRAGMA integrity_check").fetchone()[0]
        finally:
            base.close()
        terms = preload.ledger(trace)
    except sqlite3.Error as error:
        return {}, [f"the trace does not open: {error}"]
    wrong = [] if whole == "ok" else [f"integrity: {whole}"]
    if terms["unknown"] != 0 or terms["unfinished"] != 0:
        wrong.append(f"ledger: {terms}")
    return terms, wrong


def forget_rings(folder):
    """Of traces in that folder: where opening fails for ever, so does tidying up. How many there were."""
    found = 0
    for ring in MEMORY.glob(f"gpushim-{os.geteuid()}/*/ring-0"):
        try:
            with ring.open("rb") as file:
                ours = str(folder).encode() in file.read(4096)
        except FileNotFoundError:  # another process's, which has just ended
            continue
        if ours:
            found += 1
            shutil.rmtree(ring.parent, ignore_errors=True)
    return found


def plan(bench, most, chance):
    """All of them, or so many of each kind, error and way, evenly over the shim's life."""
    for kind, errors in KINDS.items():
        seen = bench.usual[kind].seen
        for error in errors:
            for on in ("once", "ever"):
                if most is None or seen <= most:
                    places = range(1, seen + 1)
                else:
                    every = seen / most
                    places = [1 + int((i + chance.random()) * every) for i in range(most)]
                yield from (Injection(kind, at, on, error) for at in places)


def main():
    most = int(sys.argv[1])
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    with tempfile.TemporaryDirectory(prefix="gpushim-errors-") as name:
        bench = Bench(pathlib.Path(name))
        for outcome in bench.usual.values():
            print(outcome)
        todo = [each for each in plan(bench, most, random.Random(1)) if only in str(each)]
        with ProcessPoolExecutor(JOBS) as pool:
            bad = 0
            for outcome in pool.map(bench.try_one, todo, chunksize=4):
                if outcome.complaints:
                    bad += 1
                    print(outcome.injection, outcome.failed, outcome.complaints, outcome.terms, flush=True)
        print(f"{len(todo)} injections, {bad} bad")


if __name__ == "__main__":
    main()
