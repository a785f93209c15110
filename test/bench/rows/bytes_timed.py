"""What operations with device times take on disk, and gaps of the host. In stepped time, with everything
timed."""
from measure import BOX, BUILD, Figure, NotTried, Trace

PROGRAM = BUILD / "gpu" / "pace"
LAUNCHES = 200_000
PAUSE_NS = 60_000  # from 50 us on it is a gap


def measure():
    trace = Trace(PROGRAM, LAUNCHES, PAUSE_NS, driver=BOX, GPUSIM_CLOCK="stepped", GPUSHIM_BUDGET="100%")
    if trace.bytes is None:
        raise NotTried("this SQLite has no dbstat")
    if trace.timed < 0.9 * LAUNCHES or trace.gaps < 0.9 * LAUNCHES:
        raise NotTried(f"{trace.timed} timed, {trace.gaps} gaps")
    launch = trace.bytes["launch"] / trace.launches
    device = (trace.bytes["launch_device"] + trace.bytes["level_error"]) / trace.timed
    yield Figure("bytes per device time", device, "B", at_most=24,
                 why=f"{trace.timed} rows of launch_device, {trace.bytes['level_error']} B of level_error")
    yield Figure("bytes per timed launch", launch + device, "B", why=f"the launch itself {launch:.1f} B")
    yield Figure("bytes per host gap", trace.bytes["host_gap"] / trace.gaps, "B", why=f"{trace.gaps} gaps")
