"""The same as device_time on the simulated box, where recording an event takes 1.5 us of the program's
thread and a launch 4 us: what a thread pays where it has to pay the driver. No figure of it is a GPU's."""
import statistics

from measure import BOX, BUILD, QUICK, SHIM, Figure, Trace, in_turns, run

PROGRAM = BUILD / "gpu" / "launch_cost"
TURNS = 1 if QUICK else 5
WAYS = {"host times only": {"GPUSHIM_DEVICE_TIME": "off"}, "between windows": {"GPUSHIM_BUDGET": "0.01%"},
        "inside a window": {"GPUSHIM_BUDGET": "100%"}}


def traced(variables):
    return lambda: Trace(PROGRAM, driver=BOX, **variables)


def measure():
    ways = {"plain": lambda: run(PROGRAM, driver=BOX),
            "switched off": lambda: run(PROGRAM, driver=BOX, preload=SHIM, GPUSHIM_DISABLE="1"),
            **{name: traced(variables) for name, variables in WAYS.items()}}
    found = in_turns(TURNS, ways)
    plain_ns = {figure: statistics.median(turn[figure] for turn in found["plain"])
                for figure in ("min_ns", "median_ns")}
    for name in list(ways)[1:]:
        figure = "median_ns" if name == "inside a window" else "min_ns"
        printed = [getattr(turn, "printed", turn) for turn in found[name]]
        with_ns = statistics.median(turn[figure] for turn in printed)
        timed = [f"; {turn.timed_share:.0%} timed" for turn in found[name] if hasattr(turn, "timed_share")]
        yield Figure(f"box: {name}", with_ns - plain_ns[figure], "ns", why=(
            f"added to a launch of {plain_ns[figure]:.0f} ns, {figure[:-3]} of bursts" + "".join(timed[:1])))
