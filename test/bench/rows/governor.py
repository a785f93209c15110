"""GPUSHIM_BUDGET asked and held, by the trace's own account and from outside: the same work with and
without the shim. On the box's stepped clock, to the nanosecond; there our own code counts as nothing, so
this is the events' part. A young run has what 2.5 s more would allow; the spans end with a slot of 10 s,
and begin at 1 s."""
from measure import BOX, BUILD, QUICK, Figure, Trace, run

PROGRAM = BUILD / "gpu" / "pace"
LAUNCH_NS = 4000
SPAN_S = {1_000: 39, 20_000: 39, 200_000: 29}
BUDGETS = (0.2, 1, 5)  # per cent
HELD = 1.15            # times what was asked


def measure():
    for rate in (20_000,) if QUICK else SPAN_S:
        work = (PROGRAM, SPAN_S[rate] * rate, 1_000_000_000 // rate - LAUNCH_NS)
        plain_ns = run(*work, driver=BOX, GPUSIM_CLOCK="stepped")["wall_ns"]
        for budget in BUDGETS:
            trace = Trace(*work, driver=BOX, GPUSIM_CLOCK="stepped", GPUSHIM_BUDGET=f"{budget}%")
            told = trace.cost["busiest_ns"] / trace.cost["span_ns"]
            seen = 1 - plain_ns / trace.printed["wall_ns"]
            yield Figure(f"stepped: {budget} % at {rate // 1000} k launches/s", 100 * seen, "% held",
                         at_most=HELD * budget,
                         why=f"the trace says {100 * told:.3f} %; {trace.timed_share:.2%} timed")
