"""What a day costs: bytes per event and the writer's share of a processor, at three rates of launches."""
from measure import QUICK, Figure, Trace

RATES = (1_000, 20_000, 200_000)
MAX_SHARE = {20_000: 0.02}  # aim: a quarter of that
DAY_S = 24 * 3600
DEFAULT_MAX_MB = 2048


# Whole slots of 10 s apart: a window stands at the beginning of each.
SECONDS = (1, 2) if QUICK else (10, 40)


def measure():
    for rate in RATES:
        short, long = (Trace("load", 1, rate, seconds) for seconds in SECONDS)
        rows = max(long.launches - short.launches, 1)
        size_bytes = (long.size_bytes - short.size_bytes) / rows
        all_mb = size_bytes * rate * DAY_S / 1e6
        yield Figure(f"bytes per event at {rate // 1000} k launches/s", size_bytes, "B",
                     why=f"a day: {min(DEFAULT_MAX_MB, all_mb):,.0f} MB by default, {all_mb:,.0f} MB of rows")
        writer_ns = long.printed["writer_ns"] - short.printed["writer_ns"]
        limit = {"at_most": MAX_SHARE[rate], "aim": MAX_SHARE[rate] / 4} if rate in MAX_SHARE else {}
        yield Figure(f"writer at {rate // 1000} k launches/s",
                     writer_ns / (long.printed["wall_ns"] - short.printed["wall_ns"]), "processors", **limit,
                     why=f"{writer_ns / rows:.0f} ns per row, {long.dropped} dropped")
