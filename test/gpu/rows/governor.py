"""GPUSHIM_BUDGET asked and held at three rates of launches, by the trace's own account and from outside:
the same work with and without the shim."""
from machine import BUILD, Row, Skip, demand, one

ORDER, LIMIT_S = 90, 300
# What matters most first: there may be no time for all of it.
BUDGETS = (1, 5, 0.2)  # per cent
LAUNCH_NS = 4000       # what a launch takes, about: so much less is the work after it
SPAN_S = 21            # two whole slots and a part of one
RATES = (20_000, 1_000, 200_000)
HELD = 1.2             # a run of 21 s has what 2.5 s more would allow


def figures(done):
    words = done.stdout.split()
    return dict(zip(words[::2], map(float, words[1::2])))


def check(machine):
    program = BUILD / "gpu" / "pace"
    if not program.exists():
        raise Skip(f"no {program}")
    for rate in RATES[:2] if machine.simulated else RATES:
        work = [program, SPAN_S * rate, 1_000_000_000 // rate - LAUNCH_NS]
        without_ns = figures(machine.plain(work, **machine.undisturbed))["launch_ns"]
        for budget in BUDGETS[:2] if machine.simulated else BUDGETS:
            done, traces = machine.traced(work, GPUSHIM_BUDGET=f"{budget}%", **machine.undisturbed)
            trace = one(traces)
            told = 100 * trace.cost["busiest_ns"] / trace.cost["span_ns"]
            seen = 100 * (1 - without_ns / figures(done)["launch_ns"])
            writer = trace.cost["writer_cpu_ns"] / trace.cost["span_ns"]
            said = f"held {told:.2f} % as told, {seen:.2f} % from outside; {trace.timed_share:.1%} timed"
            demand(trace.timed_launches > 0 and told < HELD * budget, f"{budget} %:", said)
            if machine.simulated:  # where the time is exact
                demand(abs(told - seen) < 0.02, f"{budget} %:", said)
            yield Row(f"{budget} % at {rate // 1000} k launches/s", f"{said}, writer {writer:.3f} processors")
