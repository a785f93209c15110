"""A launch while recording, against two time stamps around it; everything in the caches."""
from measure import Figure, NotTried, Trace, added_ns


def measure():
    trace = Trace("call_cost", "hot")
    if trace.dropped:
        raise NotTried(f"{trace.dropped} launches were dropped: that is another path")
    added, floor = added_ns(trace.printed, "through"), added_ns(trace.printed, "stamped")
    yield Figure("hot launch / 2 stamps", added / floor, "x", at_most=1.5, aim=1.1,
                 why=f"{added:.1f} ns added, {floor:.1f} ns floor")
