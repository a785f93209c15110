"""How fast traces are analysed: operations a second and core, growth with size, memory, beside the floor of
reading the file at all and the same union of spans in SQL alone; and its parts by themselves: rows read, and
the sweep over one GPU's operations."""
import math
import mmap
import os
import pathlib
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time

import big_trace
from measure import BENCH, BUILD, QUICK, Figure

SIZES = (20_000, 200_000) if QUICK else (100_000, 1_000_000, 10_000_000)
SQL_ROWS = 20_000 if QUICK else 1_000_000
BUSY_IN_SQL = """SELECT sum(end_ns - max(start_ns, coalesce(before_ns, start_ns))) FROM (
  SELECT start_ns, end_ns, max(end_ns) OVER (
    ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
  FROM (SELECT enter_ns + start_offset_ns AS start_ns, enter_ns + start_offset_ns + dur_ns AS end_ns
        FROM launch_device LIMIT ?))
WHERE end_ns > coalesce(before_ns, start_ns)"""


def analysed(path, run):
    """Wall and CPU seconds, and the most memory it had, in bytes."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([BUILD / "gpushim", "analyze", path, "-o", run], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - began, cpu, after.ru_maxrss * 1024


def floor(path):
    """Seconds to look at every byte of the file."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as text:
        began = time.monotonic()
        text.find(b"\xff" * 24)
        return time.monotonic() - began


def in_sql(path):
    base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    began = time.monotonic()
    base.execute(BUSY_IN_SQL, (SQL_ROWS,)).fetchone()
    return time.monotonic() - began


def growth(seconds):
    """The exponent of time by size: the slope of the line through the logarithms of all sizes."""
    points = [(math.log(size), math.log(took)) for size, took in seconds.items()]
    middle_x, middle_y = (sum(axis) / len(points) for axis in zip(*points))
    return (sum((x - middle_x) * (y - middle_y) for x, y in points) /
            sum((x - middle_x) ** 2 for x, _ in points))


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
        seconds = {}
        for launches in SIZES:
            path, run = pathlib.Path(folder, f"{launches}.db"), pathlib.Path(folder, "run.db")
            operations = big_trace.make(path, launches)
            wall, cpu, memory = min(analysed(path, run) for _ in range(1 if launches > 2_000_000 else 3))
            seconds[launches] = cpu
            why = (f"{wall:.2f} s, {cpu:.2f} s of CPU, at most {memory / 2**20:.0f} MiB; reading the file"
                   f" takes {floor(path):.3f} s; the run has {os.path.getsize(run) / 1e6:.1f} MB")
            yield Figure(f"analysed, {launches:,} launches", operations / cpu / 1e6, "M/s a core", why=why)
        yield from rows_read(path)
        large = SIZES[-1]
        slope = growth(seconds)
        yield Figure("time for ten times as much", 10 ** slope, "times", at_most=12,
                     why=f"grows as size to the power of {slope:.3f}, from {SIZES[0]:,} to {large:,}"
                         " launches")
        yield Figure("100 M operations by two cores", seconds[large] * 100e6 / large / 2, "s", at_most=60,
                     aim=15, why="from the largest; two traces of the same size beside each other")
        rows = min(SQL_ROWS, large)
        yield Figure("busy alone in SQL", rows / in_sql(path) / 1e6, "M/s a core", why=f"{rows:,} operations")


if __name__ == "__main__":
    sys.exit("make bench runs this")
