"""From the rings into the file: how many rows a second while launches come without end, and bytes per row."""
from measure import QUICK, Figure, Trace


def measure():
    trace = Trace("load", 1, 0, 1 if QUICK else 4)
    wall_s, writer_s = trace.printed["drained_ns"] / 1e9, trace.printed["writer_ns"] / 1e9
    yield Figure("writer, rows per second of its own time", trace.launches / writer_s / 1e6, "M/s",
                 at_least=1.5, aim=2.5, why=f"{trace.launches} rows in {writer_s:.2f} s on a processor")
    waited_s = trace.printed["writer_waited_ns"] / 1e9
    rest_s = wall_s - waited_s
    if rest_s >= writer_s:  # else it is made of how far apart the two clocks are read
        yield Figure("writer, rows per second but for waiting", trace.launches / rest_s / 1e6, "M/s",
                     why=f"of {wall_s:.1f} s it waited {waited_s:.1f} s for a processor; of the launches "
                         f"{trace.dropped / trace.printed['launches']:.0%} were dropped and counted")
    yield Figure("bytes per launch row", trace.size_bytes / trace.launches, "B", at_most=30)
