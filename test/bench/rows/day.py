"""What a day costs: bytes per event and the writer's share of a processor, at three rates of launches."""
from measure import QUICK, Figure, Trace

RATES = (1_000, 20_000, 200_000)
MAX_SHARE = {20_000: 0.02}  # aim: a quarter of that
DAY_S = 24 * 3600
DEFAULT_MAX_MB = 2048


def measure():
    for rate in RATES:
        short, long = (Trace("load", 1, rate, seconds) for seconds in ((1, 2) if QUICK else (2, 8)))
        rows = long.launches - short.launches
        size_bytes = (long.size_bytes - short.size_bytes) / max(rows, 1)
        all_mb = size_bytes * rate * DAY_S / 1e6
        yield Figure(f"bytes per event at {rate // 1000} k launches/s", size_bytes, "B",
                     why=f"a day: {min(DEFAULT_MAX_MB, all_mb):,.0f} MB by default, {all_mb:,.0f} MB of rows")
        share = long.printed["writer_ns"] / long.printed["wall_ns"]
        limit = {"at_most": MAX_SHARE[rate], "aim": MAX_SHARE[rate] / 4} if rate in MAX_SHARE else {}
        yield Figure(f"writer at {rate // 1000} k launches/s", share, "processors", **limit,
                     why=f"{long.printed['writer_ns'] / max(long.launches, 1):.0f} ns per row, "
                         f"{long.dropped} dropped")
