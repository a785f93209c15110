"""What a launch costs with the shim and without, in processes that take turns."""
from machine import BUILD, Row, Skip, demand

TURNS = 7
MOST = 1.10  # of a call of some microseconds; a nanosecond's truth is told by `make bench`


def check(machine):
    program = BUILD / "gpu" / "launch_cost"
    if not program.exists():
        raise Skip(f"no {program}")
    without, under = [], []
    for _ in range(TURNS):
        without.append(float(machine.plain([program]).stdout))
        done, _ = machine.traced([program])
        under.append(float(done.stdout))
    ratio = min(under) / min(without)
    found = f"{min(under):.0f} ns with, {min(without):.0f} ns without the shim: {ratio:.3f} times"
    demand(ratio < MOST, "a launch takes", found)
    yield Row("cost of a launch", f"{found}; shortest of {TURNS} turns")
