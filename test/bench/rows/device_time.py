"""What a launch costs more with device times: switched off, off for device times alone, between windows,
inside one. On the driver that does nothing, whose events are one stamp each; what is left is our own
code."""
import statistics

from measure import QUICK, SHIM, Figure, NotTried, Trace, added_ns, in_turns, run

TURNS = 1 if QUICK else 3
INSIDE = 0.6  # of the launches at least have to be timed, or the median is of another path


def hot(**variables):
    return lambda: Trace("call_cost", "hot", **variables)


def least(printed):
    """Nanoseconds added at best, and what two stamps add in the same turns."""
    return min(added_ns(p, "through") for p in printed), min(added_ns(p, "stamped") for p in printed)


def measure():
    found = in_turns(TURNS, {"off": lambda: run("call_cost", "hot", preload=SHIM, GPUSHIM_DISABLE="1"),
                             "host": hot(GPUSHIM_DEVICE_TIME="off"),
                             "between": hot(GPUSHIM_BUDGET="0.01%"),
                             "inside": hot(GPUSHIM_BUDGET="100%")})
    off, _ = least(found["off"])
    yield Figure("switched off", off, "ns", at_most=2, why="added to a launch")
    for name, what in (("host", "host times only"), ("between", "between windows")):
        if max(trace.timed_share for trace in found[name]) > 0.5:
            raise NotTried("a window was open between windows")
        added, floor = least([trace.printed for trace in found[name]])
        yield Figure(f"{what} / 2 stamps", added / floor, "x", at_most=1.5, aim=1.1,
                     why=f"{added:.1f} ns added, {floor:.1f} ns floor")
    share = min(trace.timed_share for trace in found["inside"])
    if share < INSIDE:
        raise NotTried(f"only {share:.0%} of the launches had events of ours")
    # The quickest bursts may be those without events.
    added = statistics.median(added_ns(trace.printed, "through", "median") for trace in found["inside"])
    floor = statistics.median(added_ns(trace.printed, "stamped", "median") for trace in found["inside"])
    yield Figure("inside a window / 2 stamps", added / floor, "x", aim=6,
                 why=f"{added:.1f} ns added by two events, {floor:.1f} ns floor, medians; {share:.0%} timed")
