"""The parts of an analysis by themselves: rows read from a trace's pages, and the sweep over one GPU's
operations."""
import pathlib
import subprocess
import sys
import tempfile

import big_trace
from measure import BENCH, QUICK, Figure

LAUNCHES = 20_000 if QUICK else 1_000_000


def rows_read(path):
    text = subprocess.run([BENCH / "rows_read", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = dict(line.split() for line in text.splitlines())
    yield Figure("rows read", float(found["pages"]), "M/s a core", at_least=8,
                 why=f"from pages; by a statement {found['statement']}; as calls with their times"
                     f" {found['calls']} M/s")


def swept():
    text = subprocess.run([BENCH / "sweep"], check=True, stdout=subprocess.PIPE, text=True).stdout
    for line in text.splitlines():
        what, rest = line.rsplit(": ", 1)
        is_usual = "back to back" in what
        yield Figure(what, float(rest.split()[0]), rest.split(" ", 1)[1], at_least=40 if is_usual else None)


def measure():
    yield from swept()
    with tempfile.TemporaryDirectory(prefix="gpushim-bench-") as folder:
        path = pathlib.Path(folder, "trace.db")
        big_trace.make(path, LAUNCHES)
        yield from rows_read(path)


if __name__ == "__main__":
    sys.exit("make bench runs this")
