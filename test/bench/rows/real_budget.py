"""The default budget in real time on the box, from outside: what a launch and the host work after it take
with and without the shim, without those that were interrupted; the runs without it lie around the one with
it."""
from measure import BOX, BUILD, QUICK, Figure, NotTried, Trace, run

PROGRAM = BUILD / "gpu" / "pace"
LAUNCH_NS = 4000
RATES = (20_000, 200_000)
SPAN_S = 31  # three slots


def measure():
    if QUICK:
        raise NotTried("takes a minute of real time")
    for rate in RATES:
        pause_ns = 1_000_000_000 // rate - LAUNCH_NS
        plain = [run(PROGRAM, 3 * rate, pause_ns, driver=BOX)["launch_ns"]]
        trace = Trace(PROGRAM, SPAN_S * rate, pause_ns, driver=BOX)
        plain.append(run(PROGRAM, 3 * rate, pause_ns, driver=BOX)["launch_ns"])
        plain_ns = sum(plain) / len(plain)
        with_ns, cost = trace.printed["launch_ns"], trace.cost
        parts = ", ".join(f"{part} {100 * cost[part + '_ns'] / cost['span_ns']:.2f} %"
                          for part in ("hook", "device_time", "host_state"))
        told = 100 * cost["busiest_ns"] / cost["span_ns"]
        apart_ns = abs(plain[0] - plain[1])
        yield Figure(f"real: 1 % at {rate // 1000} k launches/s", 100 * (1 - plain_ns / with_ns),
                     "% held",
                     why=f"{with_ns:.0f} ns with, {plain_ns:.0f} ns without ({apart_ns:.0f} apart); the "
                         f"trace says {told:.2f} %: {parts}; {trace.timed_share:.2%} timed")
