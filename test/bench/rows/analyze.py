"""How fast traces are analysed: operations a second and core, growth with size, memory, beside the floor of
reading the file at all and the same union of spans in SQL alone; and ten ranks together, which share the
processors."""
import math
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time

import big_trace
from measure import BUILD, QUICK, Figure

SIZES = (20_000, 200_000) if QUICK else (100_000, 1_000_000, 10_000_000)
RANKS = 2 if QUICK else 10
SQL_ROWS = 20_000 if QUICK else 1_000_000
BUSY_IN_SQL = """SELECT sum(end_ns - max(start_ns, coalesce(before_ns, start_ns))) FROM (
  SELECT start_ns, end_ns, max(end_ns) OVER (
    ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
  FROM (SELECT enter_ns + start_offset_ns AS start_ns, enter_ns + start_offset_ns + dur_ns AS end_ns
        FROM launch_device LIMIT ?))
WHERE end_ns > coalesce(before_ns, start_ns)"""


def analysed(paths, run):
    return asked("analyze", *paths, "-o", run)


def asked(command, *words):
    """Wall and CPU seconds, and the most memory it had, in bytes."""
    began = time.monotonic()
    child = subprocess.Popen([BUILD / "gpushim", command, *words], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise RuntimeError(f"gpushim {command} ended with {child.returncode}")
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def floor(path):
    """Seconds to look at every byte of the file. Piece by piece: what this process had in memory at the most
    is told as what those had that it starts later, too."""
    with open(path, "rb", buffering=0) as file:
        began = time.monotonic()
        while text := file.read(1 << 20):
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


def measure():
    with tempfile.TemporaryDirectory(prefix="gpushim-bench-") as folder:
        seconds = {}
        for launches in SIZES:
            path, run = pathlib.Path(folder, f"{launches}.db"), pathlib.Path(folder, "run.db")
            operations = big_trace.make(path, launches)
            wall, cpu, memory = min(analysed([path], run) for _ in range(1 if launches > 2_000_000 else 3))
            seconds[launches] = cpu
            why = (f"{wall:.2f} s, {cpu:.2f} s of CPU, at most {memory / 2**20:.0f} MiB; reading the file"
                   f" takes {floor(path):.3f} s; the run has {os.path.getsize(run) / 1e6:.1f} MB")
            yield Figure(f"analysed, {launches:,} launches", operations / cpu / 1e6, "M/s a core", why=why)
        large = SIZES[-1]
        slope = growth(seconds)
        yield Figure("time for ten times as much", 10 ** slope, "times", at_most=12,
                     why=f"grows as size to the power of {slope:.3f}, from {SIZES[0]:,} to {large:,}"
                         " launches")
        yield from one_with_all(path, pathlib.Path(folder))
        rows = min(SQL_ROWS, large)
        yield Figure("busy alone in SQL", rows / in_sql(path) / 1e6, "M/s a core", why=f"{rows:,} operations")
        yield from ranks_together(pathlib.Path(folder), path)
        yield from collectives(pathlib.Path(folder))


def one_with_all(path, folder):
    """One trace with all processors beside the same with one, in turns."""
    processors = os.sched_getaffinity(0)
    best = {}
    for _ in range(1 if QUICK else 3):
        for allowed in (processors, {min(processors)}):
            os.sched_setaffinity(0, allowed)
            wall = analysed([path], folder / "run.db")[0]
            best[len(allowed)] = min(wall, best.get(len(allowed), wall))
    os.sched_setaffinity(0, processors)
    yield Figure("one trace with all processors", best[1] / best[len(processors)], "times",
                 why=f"as quick as with one; {len(processors)} processors, {best[len(processors)]:.1f} s and"
                     f" {best[1]:.1f} s; load {os.getloadavg()[0]:.1f}")


def ranks_together(folder, first):
    """As many operations in each as in the largest: in steps as long as real training has them, of which
    traces of others hold 425 to 1,465 kernels, and in short ones, where most of the work is that of steps."""
    paths = [first] + [folder / f"rank{rank}.db" for rank in range(1, RANKS)]
    for per_step, name in ((10 * big_trace.PER_STEP, "100 M operations together"),
                           (big_trace.PER_STEP, "100 M in short steps together")):
        operations = big_trace.made_ranks(paths, SIZES[-1], per_step)
        wall, cpu, memory = analysed(paths, folder / "run.db")
        where = (f"{RANKS} traces of {SIZES[-1]:,} launches, {per_step} in a step,"
                 f" {os.cpu_count()} processors")
        yield Figure(name, wall * 100e6 / operations, "s", at_most=25, aim=15,
                     why=f"{where}: {wall:.1f} s, {cpu:.1f} s of CPU; load {os.getloadavg()[0]:.1f}")
    yield Figure("memory for all of them", memory / 2**20, "MiB", at_most=1024, why=where)
    took, took_cpu, memory = asked("report", folder / "run.db")
    yield Figure("report on all of them", took_cpu / cpu, "of that", at_most=0.3,
                 why=f"of the CPU that analysing took: {took:.1f} s, {took_cpu:.1f} s of CPU, at most"
                     f" {memory / 2**20:.0f} MiB")


def collectives(folder):
    """What a call of NCCL adds, that all ranks make: one launch in ten is of one. Each is held in memory."""
    paths = [folder / f"rank{rank}.db" for rank in range(RANKS)]
    big_trace.made_ranks(paths, SIZES[-2], 10 * big_trace.PER_STEP)
    _, cpu, memory = analysed(paths, folder / "run.db")
    big_trace.made_ranks(paths, SIZES[-2], 10 * big_trace.PER_STEP, collectives=True)
    wall, cpu_with, memory_with = analysed(paths, folder / "run.db")
    calls = RANKS * SIZES[-2] // 10
    why = (f"{calls:,} calls of {RANKS} ranks: {wall:.1f} s, {cpu_with:.1f} s of CPU and"
           f" {memory_with / 2**20:.0f} MiB; without them {cpu:.1f} s and {memory / 2**20:.0f} MiB")
    yield Figure("a call of NCCL", (cpu_with - cpu) / calls * 1e6, "us of CPU", at_most=None if QUICK else 20,
                 why=why)
    yield Figure("its memory", (memory_with - memory) / calls, "bytes",
                 at_most=None if QUICK else 800, why=why)


if __name__ == "__main__":
    sys.exit("make bench runs this")
