"""What a process pays that makes a context, launches a few times and ends: processor time, all of it. Without
device times, for the driver that does nothing takes 50 ms to tell a first one."""
import os
import pathlib
import tempfile
import time

from measure import BENCH, NULL, QUICK, SHIM, Figure, in_turns

SHORT = BENCH / "short"


def ended(preload, folder):
    """(processor time, wall time) of one process, in ms; its trace goes."""
    env = {"LD_LIBRARY_PATH": str(NULL), "GPUSHIM_OUT": f"{folder}/%p.db", "GPUSHIM_RECOVER": "own",
           "GPUSHIM_DEVICE_TIME": "off"}
    if preload:
        env["LD_PRELOAD"] = str(preload)
    words = [str(SHORT)]
    quiet = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
    begun = time.monotonic()
    pid = os.posix_spawn(words[0], words, env, file_actions=quiet)
    _, status, used = os.wait4(pid, 0)
    wall_s = time.monotonic() - begun
    if status != 0:
        raise RuntimeError(f"short returned {status}")
    traces = list(pathlib.Path(folder).glob("*.db"))
    if len(traces) != (preload is not None):
        raise RuntimeError(f"{len(traces)} traces of one process")
    for path in traces:
        path.unlink()
    return (used.ru_utime + used.ru_stime) * 1e3, wall_s * 1e3


def measure():
    with tempfile.TemporaryDirectory(prefix="gpushim-bench-") as folder:
        found = in_turns(25 if QUICK else 200, {"plain": lambda: ended(None, folder),
                                                "traced": lambda: ended(SHIM, folder)})
    plain, traced = (min(cpu for cpu, _ in found[way]) for way in ("plain", "traced"))
    walls = [sorted(wall for _, wall in found[way])[len(found[way]) // 2] for way in ("plain", "traced")]
    yield Figure("short process: added", traced - plain, "ms", at_most=6, aim=3,
                 why=f"of a processor; program {plain:.2f} ms; wall, median: {walls[1] - walls[0]:.0f} ms")
