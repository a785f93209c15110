"""What a launch costs that comes 60 us after the one before: the thread's CPU clock is read, and the gap is
recorded. On the box, in real time, without launches that something else interrupted."""
from measure import BOX, BUILD, QUICK, Figure, NotTried, Trace, in_turns, run

PROGRAM = BUILD / "gpu" / "pace"
TURNS = 1 if QUICK else 4
WORK = (PROGRAM, 10_000 if QUICK else 25_000, 60_000)


def measure():
    found = in_turns(TURNS, {"plain": lambda: run(*WORK, driver=BOX)["launch_ns"],
                             "with": lambda: Trace(*WORK, driver=BOX, GPUSHIM_DEVICE_TIME="off")})
    gaps = min(trace.gaps for trace in found["with"])
    if gaps < WORK[1] * 0.9:
        raise NotTried(f"only {gaps} gaps were recorded")
    plain_ns, with_ns = min(found["plain"]), min(trace.printed["launch_ns"] for trace in found["with"])
    yield Figure("added to a launch after a gap", with_ns - plain_ns, "ns",
                 why=f"of {plain_ns:.0f} ns: {(with_ns - plain_ns) / plain_ns:.2%}")
