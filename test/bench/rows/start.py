"""What a program without CUDA pays to start, against a preload with a C++ library that does nothing."""
from measure import BENCH, QUICK, SHIM, Figure, run


def measure():
    printed = run("start", 60 if QUICK else 300, "/bin/true", "-", BENCH / "idle_preload.so", SHIM)
    bare, idle, shim = (printed[f"{i}_min_ns"] / 1e3 for i in range(3))
    yield Figure("start-up / idle preload", (shim - bare) / (idle - bare), "x", at_most=2,
                 why=f"{shim - bare:.0f} us added, idle preload {idle - bare:.0f} us, program {bare:.0f} us")
    yield Figure("start-up added", shim - bare, "us", aim=150)
