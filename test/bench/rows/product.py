"""A matrix product of cuBLAS, and one of cuBLASLt, while recording: what recording it adds, its launches not
counted. More than 30 ns, and it would not be recorded unless somebody asks."""
from measure import Figure, NotTried, Trace, added_ns


def measure():
    for way, library in (("gemm", "cuBLAS"), ("matmul", "cuBLASLt")):
        trace = Trace("product_cost", way)
        if trace.dropped:
            raise NotTried(f"{trace.dropped} calls were dropped: that is another path")
        added, floor = added_ns(trace.printed, "through"), added_ns(trace.printed, "stamped")
        yield Figure(f"product of {library} / 2 stamps", added / floor, "x", at_most=2.5, aim=1.5,
                     why=f"{added:.1f} ns added, {floor:.1f} ns floor")
