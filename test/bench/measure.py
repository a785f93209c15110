"""What the rows share: where things are, running a benchmark program under a preload, reading its figures,
and the shape of a row.

A row is a file of test/bench/rows with a function `measure()` that yields Figures, or raises NotTried with
the reason.
"""
import os
import pathlib
import sqlite3
import subprocess
import tempfile
from typing import NamedTuple, Optional

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / os.environ.get("GPUSHIM_BUILD", "build")
BENCH = BUILD / "bench"
NULL = BENCH / "null"  # the driver that does nothing
BOX = BUILD / "sim"
SHIM = BUILD / "libgpushim.so"
BUDGET_SHARE = float(os.environ.get("BENCH_BUDGET_SHARE", "1"))
QUICK = os.environ.get("BENCH_QUICK") == "1"  # as a test: the same measurements, shorter


class NotTried(Exception):
    """This row needs something that is not here."""


class Figure(NamedTuple):
    """One line of the table. `at_most` and `at_least` are the budget, `aim` is what we would like."""

    name: str
    value: float
    unit: str
    at_most: Optional[float] = None
    at_least: Optional[float] = None
    aim: Optional[float] = None
    why: str = ""  # what it was made of

    def holds(self):
        above = self.at_most is not None and self.value > self.at_most * BUDGET_SHARE
        below = self.at_least is not None and self.value < self.at_least
        return not above and not below


def run(program, *arguments, preload=None, out=None, before=(), driver=NULL, **variables):
    """The figures that the program printed, by name."""
    ours = ("GPUSHIM_", "GPUSIM_", "LD_")
    env = {name: text for name, text in os.environ.items() if not name.startswith(ours)}
    env.update(variables, LD_LIBRARY_PATH=str(driver))
    if out:
        env["GPUSHIM_OUT"] = f"{out}/%p.db"
    command = [*before, BENCH / program, *arguments]
    if preload:
        command = ["env", f"LD_PRELOAD={preload}", *command]
    done = subprocess.run([str(word) for word in command], env=env, text=True, timeout=300, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise RuntimeError(f"{program} returned {done.returncode}: {done.stderr}")
    words = done.stdout.split()
    return dict(zip(words[::2], map(float, words[1::2])))


class Trace:
    """A traced run of a benchmark program: what it printed, and what its trace says."""

    def __init__(self, program, *arguments, before=(), driver=NULL, **variables):
        with tempfile.TemporaryDirectory(prefix="gpushim-bench-") as folder:
            self.printed = run(program, *arguments, preload=SHIM, out=folder, before=before, driver=driver,
                               **variables)
            paths = list(pathlib.Path(folder).glob("*.db"))
            if len(paths) != 1:
                raise RuntimeError(f"{program} left {len(paths)} traces: {SHIM} is not in front of it")
            (path,) = paths
            self.base = sqlite3.connect(path)
            self.launches, self.timed, self.dropped = self.one(
                "SELECT (SELECT count(*) FROM launch), (SELECT count(*) FROM launch_device), dropped "
                "FROM v_ledger")
            self.cost = self.read_cost()
            self.bytes = self.read_bytes()
            self.gaps, = self.one("SELECT count(*) FROM host_gap")
            self.base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self.base.close()
            self.size_bytes = path.stat().st_size

    def one(self, query):
        return self.base.execute(query).fetchone()

    @property
    def timed_share(self):
        return self.timed / max(self.launches, 1)

    def read_cost(self):
        """By column of `cost`, nanoseconds of the whole run."""
        columns = ("span_ns", "busiest_ns", "hook_ns", "device_time_ns", "host_state_ns", "harvest_ns",
                   "writer_cpu_ns")
        sums = self.one("SELECT " + ", ".join(f"total({column})" for column in columns) + " FROM cost")
        return dict(zip(columns, sums))

    def read_bytes(self):
        """By table, on disk; None: this SQLite cannot tell."""
        try:
            return dict(self.base.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name"))
        except sqlite3.OperationalError:
            return None


def in_turns(count, ways):
    """{name: [what its function gave in each turn]}: whatever else the machine does meets all of them."""
    found = {name: [] for name in ways}
    for _ in range(count):
        for name, way in ways.items():
            found[name].append(way())
    return found


def added_ns(printed, way, figure="min"):
    """What a call costs more than the plain one, measured in the same turns."""
    return printed[f"{way}_{figure}_ns"] - printed[f"plain_{figure}_ns"]
