"""What a launch costs without the shim and with it: switched off, with host times only, between windows,
inside one, and what an event takes. Processes that take turns; bursts that fit in the driver's queue."""
import statistics

from machine import BUILD, Row, Skip, demand, one

ORDER, LIMIT_S = 81, 90
TURNS = 5
MOST = 1.10  # of a call of some microseconds; a nanosecond's truth is told by `make bench`
WAYS = {
    "switched off": {"GPUSHIM_DISABLE": 1},
    "host times only": {"GPUSHIM_DEVICE_TIME": "off"},
    "between windows": {"GPUSHIM_BUDGET": "0.01%"},
    "inside a window": {"GPUSHIM_BUDGET": "100%"},
}


def figures(done):
    words = done.stdout.split()
    return dict(zip(words[::2], map(float, words[1::2])))


def turn(machine, program, found, shares):
    found["without"].append(figures(machine.plain([program])))
    for way, variables in WAYS.items():
        done, traces = machine.traced([program], **variables)
        found[way].append(figures(done))
        if way != "switched off":
            shares[way].append(one(traces).timed_share)
        if way == "inside a window":
            shares["clock"] = one(traces).clock


def check(machine):
    program = BUILD / "gpu" / "launch_cost"
    if not program.exists():
        raise Skip(f"no {program}")
    found, shares = {way: [] for way in ("without", *WAYS)}, {way: [] for way in WAYS}
    for _ in range(TURNS):
        turn(machine, program, found, shares)
    # Inside a window the quickest bursts may be some without events.
    for way in WAYS:
        which = "median_ns" if way == "inside a window" else "min_ns"
        pick = statistics.median if way == "inside a window" else min
        under, without = (pick(turn[which] for turn in found[name]) for name in (way, "without"))
        said = f"{under:.0f} ns, without the shim {without:.0f} ns: {under - without:+.0f} ns"
        if way == "inside a window":
            most = max(shares[way])  # where something else had the processor, the others have less
            demand(most > 0.6, "only", most, "of the launches were timed")
            said += f"; {most:.0%} timed"
        else:
            demand(under < MOST * without, "a launch,", way, "takes", said)
        yield Row(f"a launch, {way}", f"{said}; {TURNS} turns")
    yield events(found["without"], shares["clock"])


def events(without, clock):
    """By a program without the shim; and what the shim has measured of its own."""
    record, query = (statistics.median(turn[name] for turn in without) for name in ("record_ns", "query_ns"))
    ours = ", ".join(f"{name} {clock[name]} ns" if clock[name] is not None else f"{name} not measured"
                     for name in ("record_ns", "event_ns"))
    return Row("an event", f"recording takes {record:.0f} ns, asking {query:.0f} ns; by the shim: {ours}",
               {"record_ns": record, "query_ns": query, **clock})
