"""200,000 launches a second: nothing is dropped; what the writer takes of a processor meanwhile."""
from measure import QUICK, Figure, Trace

RATE = 200_000


def measure():
    trace = Trace("load", 1, RATE, 2 if QUICK else 5)
    printed = trace.printed
    reached = printed["launches"] / printed["wall_ns"] * 1e9
    yield Figure("dropped at 200 k launches/s", trace.dropped, "", at_most=0,
                 why=f"{reached:.0f} launches/s reached")
    yield Figure("writer at 200 k launches/s", printed["writer_ns"] / printed["wall_ns"], "processors",
                 why=f"{printed['writer_ns'] / max(trace.launches, 1):.0f} ns per row")
