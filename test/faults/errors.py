#!/usr/bin/env python3
"""Error simulation: the nth call of a kind that the shim makes fails, for n = 1 until a run is clean, once
and from then on; in a traced program's whole life, and in the recovery of a trace.

    test/faults/errors.py [MOST [PART]]     MOST: so many of each kind, error and way, evenly over the run (0:
                                            all; of allocations never more than 500); PART: of the name
"""
import contextlib
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
import time
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e" / "tools"))
import box  # noqa: E402
import preload  # noqa: E402
from oracle import C_HOST  # noqa: E402

MEMORY = pathlib.Path("/dev/shm")  # traces on a disk that costs nothing: thousands are made
RINGS = MEMORY / f"gpushim-{os.geteuid()}"
ENOMEM, EAGAIN, EMFILE, EIO, ENOSPC, SHORT = 12, 11, 24, 5, 28, 0
KINDS = {
    "open": (EMFILE, ENOSPC),
    "write": (ENOSPC, EIO, SHORT),
    "sync": (EIO,),
    "fallocate": (ENOSPC,),
    "mmap": (ENOMEM,),
    "malloc": (ENOMEM,),
    "new": (ENOMEM,),
    "thread": (EAGAIN,),
}
MOST_ALLOCATIONS = 500  # of about 150,000 in a short life: SQLite reads its schema
JOBS = int(os.environ.get("JOBS", "2"))
LIMIT_S = 200
EMPTY_FOR_S = 10  # a folder of rings: whoever makes one locks it at once


class Injection(NamedTuple):
    kind: str
    at: int  # 0: none, calls are counted only
    on: str  # once, ever
    error: int

    def __str__(self):
        how = "short" if self.error == SHORT else os.strerror(self.error)
        return f"{self.kind} {self.at} {self.on} ({how})"


class Outcome(NamedTuple):
    injection: Injection
    seen: int  # calls of that kind
    failed: int
    terms: dict  # of the ledger; none: there is no trace
    complaints: list


def operator_new():
    """Where it is in the library: `FROM TO`."""
    names = subprocess.run(["nm", "-S", preload.SHIM], stdout=subprocess.PIPE, text=True, check=True).stdout
    start, size = (int(word, 16) for word in next(
        line.split()[:2] for line in names.splitlines() if line.endswith(" _Znwm")))
    return f"{start} {start + size}"


class Bench:
    """One subject of the injections; its programs are built, and how it goes without any is known."""

    def __init__(self, folder):
        self.library = preload.compiled((HERE / "interposers/fails.c").read_text(encoding="utf-8"),
                                        folder / "fails.so", "-shared", "-fPIC")
        self.operator_new = operator_new()
        self.prepare(folder)
        self.usual = {kind: self.inject(Injection(kind, 0, "once", 0)) for kind in KINDS}

    def run(self, folder, injection, *words):
        knobs = {"GPUSIM_CLOCK": "stepped", "GPUSHIM_MIN_FREE_MB": 0, "GPUSHIM_OUT": f"{folder}/trace.db",
                 "GPUSIM_BOX": f"{os.environ.get('GPUSIM_BOX', 'errors')}-{os.getpid()}"}
        if injection is not None:
            knobs.update({"LD_PRELOAD": f"{preload.SHIM}:{self.library}", "FAIL_KIND": injection.kind,
                          "FAIL_AT": injection.at, "FAIL_ON": injection.on, "FAIL_ERRNO": injection.error,
                          "FAIL_NEW": self.operator_new, "FAIL_COUNTS": folder / "counts"})
            (folder / "counts").write_bytes(bytes(16))
        return box.run([C_HOST, *words], knobs, timeout=LIMIT_S, cwd=folder)

    def inject(self, injection):
        """What came of it."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="gpushim-errors-", dir=MEMORY))
        try:
            terms, complaints = self.judged(folder, injection)
            seen, failed = struct.unpack("<QQ", (folder / "counts").read_bytes())
            return Outcome(injection, seen, failed, terms, complaints)
        except subprocess.TimeoutExpired:
            return Outcome(injection, 0, 0, {}, ["it hung"])
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def plan(self, most, chance):
        """All of them, or so many of each kind, error and way, evenly over the run."""
        for kind, errors in KINDS.items():
            seen = self.usual[kind].seen
            limit = min(most or seen, MOST_ALLOCATIONS if kind in ("malloc", "new") else seen, seen)
            for error in errors:
                for on in ("once", "ever"):
                    places = [1 + int((i + chance.random() * (limit < seen)) * seen / limit)
                              for i in range(limit)]
                    yield from (Injection(kind, at, on, error) for at in places)

    def outcomes_of(self, injections):
        with ProcessPoolExecutor(JOBS) as pool:
            yield from pool.map(self.inject, injections, chunksize=4)

    def complaints_of(self, injections):
        """{injection: complaints} of those that had any."""
        outcomes = self.outcomes_of(injections)
        return {str(outcome.injection): outcome.complaints for outcome in outcomes if outcome.complaints}


class Life(Bench):
    """A traced program. Whatever fails, it is what it is without the shim, and one line more is said at most;
    the trace opens and its ledger holds, or there is none and the line says why."""

    def prepare(self, folder):
        self.alone = self.run(folder, None, "brief")

    def judged(self, folder, injection):
        done, complaints = self.run(folder, injection, "brief"), []
        if (done.returncode, done.stdout) != (self.alone.returncode, self.alone.stdout):
            complaints.append(f"the program: {done.returncode} {done.stdout!r} {done.stderr!r}")
        if done.stderr.count("\n") > 1 or (done.stderr and not done.stderr.startswith("gpushim")):
            complaints.append(f"it said {done.stderr!r}")
        trace, terms = folder / "trace.db", {}
        if trace.exists():
            complaints += recover(trace)
            terms, more = opened(trace)
            complaints += more
        elif not done.stderr:
            complaints.append("no trace, and no word of it")
        # Where opening fails for ever, so does tidying up.
        if forget_rings(folder) and injection.on == "once":
            complaints.append("rings are left")
        return terms, complaints


class Recovery(Bench):
    """The recovery of a killed program's trace. Whatever fails in it, the next one makes the trace that it is
    without: everything there, once."""

    def prepare(self, folder):
        made, self.killed = folder / "made", folder / "killed"
        made.mkdir()
        self.run(made, Injection("open", 0, "once", 0), "brief", 400)
        # Not where the rings say: a traced process that runs for long beside this takes dead ones' rings in.
        made.rename(self.killed)
        self.uuid, = preload.query(self.killed / "trace.db", "SELECT value FROM meta WHERE key = 'uuid'")[0]
        shutil.move(RINGS / self.uuid, folder / "rings")
        self.rings, self.terms = folder / "rings", None

    def judged(self, folder, injection):
        """One at a time in all processes: the rings have but one place."""
        trace = folder / "trace.db"
        shutil.copytree(self.killed, folder, dirs_exist_ok=True)
        shutil.copytree(self.rings, RINGS / self.uuid)
        os.chmod(RINGS / self.uuid, 0o700)
        try:
            done = self.run(folder, injection, "recover", 0, trace)
            wrong = [] if done.returncode in (0, 1) and not done.stdout + done.stderr else [str(done)]
            wrong += recover(trace)
        finally:
            shutil.rmtree(RINGS / self.uuid, ignore_errors=True)
        terms, more = opened(trace)
        self.terms = self.terms or terms
        if terms != self.terms or not terms.get("recovered"):
            more.append(f"{terms} instead of {self.terms}")
        return terms, wrong + more

    def outcomes_of(self, injections):
        return map(self.inject, injections)


def recover(path):
    shim = ctypes.CDLL(str(preload.SHIM))
    shim.gpushim_recovery_failure.restype = ctypes.c_char_p
    if shim.gpushim_recover(str(path).encode()) == 0:
        return []
    return [f"recovery: {shim.gpushim_recovery_failure().decode()}"]


def opened(trace):
    """(the ledger's terms, what is wrong)"""
    try:
        whole = preload.query(trace, "PRAGMA integrity_check")[0][0]
        terms = preload.ledger(trace)
    except sqlite3.Error as error:
        return {}, [f"the trace does not open: {error}"]
    wrong = [] if whole == "ok" else [f"integrity: {whole}"]
    if terms["unknown"] != 0 or terms["unfinished"] != 0:
        wrong.append(f"ledger: {terms}")
    return terms, wrong


def forget_rings(folder):
    """Of traces in that folder. How many there were. Also empties left by failed ones."""
    found = 0
    for made in RINGS.glob("*"):
        with contextlib.suppress(OSError):  # it is not empty, or somebody else's and gone
            if time.time() - made.stat().st_mtime > EMPTY_FOR_S:
                made.rmdir()
    for ring in RINGS.glob("*/ring-0"):
        try:
            with ring.open("rb") as file:
                ours = str(folder).encode() in file.read(4096)
        except FileNotFoundError:  # another process's, which has just ended
            continue
        if ours:
            found += 1
            shutil.rmtree(ring.parent, ignore_errors=True)
    return found


def try_all(subject, most, part):
    """How many had a complaint."""
    with tempfile.TemporaryDirectory(prefix="gpushim-errors-", dir=MEMORY) as name:
        bench = subject(pathlib.Path(name))
        began, chance, bad = time.monotonic(), random.Random(1), 0
        seen = ", ".join(f"{outcome.seen:,} {kind}" for kind, outcome in bench.usual.items())
        print(f"{subject.__name__}: {seen}; undisturbed: {bench.usual['open'].terms}", flush=True)
        todo = [each for each in bench.plan(most, chance) if part in str(each)]
        chance.shuffle(todo)
        for done, outcome in enumerate(bench.outcomes_of(todo), 1):
            if outcome.complaints:
                bad += 1
                print("FAILED ", outcome.injection, *outcome.complaints, flush=True)
            if done % 500 == 0 or done == len(todo):
                print(f"{done:,} of {len(todo):,} injections in {time.monotonic() - began:.0f} s, "
                      f"{bad} with a complaint", flush=True)
    return bad


def main():
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    part = sys.argv[2] if len(sys.argv) > 2 else ""
    return 1 if sum(try_all(subject, most, part) for subject in (Life, Recovery)) else 0


if __name__ == "__main__":
    sys.exit(main())
