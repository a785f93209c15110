"""What NCCL's own threads pay where it tells us of its work: an operation is two calls, a step of a network
operation five."""
from measure import Figure, NotTried, Trace, added_ns


def measure():
    trace = Trace("nccl_cost", GPUSHIM_NCCL_PROFILER="network")
    if trace.dropped:
        raise NotTried(f"{trace.dropped} calls were dropped: that is another path")
    floor = added_ns(trace.printed, "stamped")
    for way, what, most in (("operation", "operation of NCCL", 3), ("step", "step of NCCL's network", 5)):
        added = added_ns(trace.printed, way)
        yield Figure(f"{what} / 2 stamps", added / floor, "x", at_most=most,
                     why=f"{added:.1f} ns added, {floor:.1f} ns floor")
