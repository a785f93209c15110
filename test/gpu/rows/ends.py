"""However a program ends, its status and what it says are the same with and without the shim in front."""
import functools
import sys

from machine import PROGRAMS, Row, demand, same
from traces import Trace

ORDER, LIMIT_S, TOGETHER = 15, 60, True
DECIDES = True  # all others stand on it
WAYS = {"return": 0, "exit": 3, "raise": 1, "abort": -6, "terminated": -15, "killed": -9}


def ended(done):
    """Its status, what it printed, and its last words; not where in the program they were said."""
    return done.returncode, done.stdout, done.stderr.splitlines()[-1:]


def recovered(machine, path):
    """The trace with what was still in rings when its process was ended: who looks first brings it in."""
    machine.report("--all", path)
    return Trace(path)


def check(machine):
    for way, status in WAYS.items():
        command = [sys.executable, "-B", PROGRAMS / "ending.py", way]
        without = machine.run(command, {})
        under, traces = machine.traced_as_it_ends(command, reader=functools.partial(recovered, machine))
        same(without.returncode, status, f"the program itself, {way}")
        same(ended(under), ended(without), f"how it ends, {way}")
        demand(traces, way, "left no trace")
        same(sum(traces[0].kernels.values()), 50, f"launches, {way}")
    yield Row("how programs end", f"{', '.join(WAYS)}: status, output and last words as without; "
              "every launch is in the trace")
