"""A report on a thousand traces on one machine: the most memory that it has, and that it says how far it is
on a terminal."""
import os
import pathlib
import pty
import re
import sys
import tempfile
import time

import big_trace
from measure import BUILD, QUICK, Figure

TRACES = 40 if QUICK else 1000
LAUNCHES = 4_000 if QUICK else 50_000  # in each; one in ten is of a collective of all
SHARE = re.compile(rb"\d+ %")


def report_on_terminal(folder):
    """The usage of a report whose stderr is a terminal, and how many different shares of the work it told."""
    child, terminal = pty.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execv(BUILD / "gpushim", ["gpushim", "report", folder])
    told = set()
    while True:
        try:
            text = os.read(terminal, 65536)
        except OSError:  # the terminal's other end is closed
            break
        told.update(SHARE.findall(text))
    _, status, usage = os.wait4(child, 0)
    os.close(terminal)
    if os.waitstatus_to_exitcode(status) != 0:
        raise RuntimeError(f"gpushim report ended with {os.waitstatus_to_exitcode(status)}")
    return usage, len(told)


def measure():
    with tempfile.TemporaryDirectory(prefix="gpushim-bench-") as name:
        folder = pathlib.Path(name)
        big_trace.made_ranks([folder / f"rank{rank}.db" for rank in range(TRACES)], LAUNCHES,
                              collectives=True)
        began = time.monotonic()
        usage, told = report_on_terminal(folder)
        why = (f"{time.monotonic() - began:.1f} s, {usage.ru_utime + usage.ru_stime:.1f} s of CPU;"
               f" {LAUNCHES:,} launches in each, a tenth of collectives; load {os.getloadavg()[0]:.1f}")
        yield Figure(f"report on {TRACES:,} traces, memory", usage.ru_maxrss / 1024, "MiB", at_most=1024,
                     why=why)
        yield Figure("shares of it told on a terminal", told, "", at_least=None if QUICK else 5)


if __name__ == "__main__":
    sys.exit("make bench runs this")
