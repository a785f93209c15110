"""What all threads of the shim take of a processor, with host times only and with everything timed, reading
the events' stamps included. In real time on the driver that does nothing."""
from measure import QUICK, Figure, Trace

RATES = (1_000, 20_000, 200_000)
SECONDS = 2 if QUICK else 5
WAYS = {"host times": {"GPUSHIM_DEVICE_TIME": "off"}, "all timed": {"GPUSHIM_BUDGET": "100%"}}


def measure():
    for rate in RATES[1:2] if QUICK else RATES:
        for name, variables in WAYS.items():
            trace = Trace("load", 1, rate, SECONDS, **variables)
            printed, spans_ns = trace.printed, trace.cost["span_ns"]
            # A process that ends before its writer was given a processor leaves no row of what it cost.
            in_driver = f"{trace.cost['harvest_ns'] / spans_ns:.3f}" if spans_ns else "not recorded"
            yield Figure(f"writer, {rate // 1000} k/s, {name}", printed["writer_ns"] / printed["wall_ns"],
                         "processors", why=(
                             f"{printed['launches'] / printed['wall_ns'] * 1e9:.0f} launches/s reached, "
                             f"{trace.timed_share:.0%} timed, {trace.dropped} dropped; "
                             f"in the driver {in_driver}"))
