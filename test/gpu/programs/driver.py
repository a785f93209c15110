"""Launches, copies, sets and waits on the driver API in known numbers, and says them as one line of JSON."""
import ctypes
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "examples" / "train"))

import cuda  # noqa: E402
import kernels  # noqa: E402

LAUNCHES = {"short": (2, 500), "longer": (20, 40), "once": (5, 1)}  # name: microseconds, how often
UP, DOWN, ACROSS, SETS = 17, 5, 9, 11
FLOATS = 25_000


def main():
    driver = cuda.Driver()
    driver.cuInit(0)
    device = cuda.Device(driver, 0)
    stream, event = device.stream(), device.event()
    ready = kernels.Kernels(device, {name: duration_us for name, (duration_us, _) in LAUNCHES.items()})
    pinned, pageable = device.host_floats(FLOATS), device.host_floats(FLOATS, pageable=True)
    here, there = device.floats(FLOATS), device.floats(FLOATS)
    for _ in range(SETS):
        device.fill(here, 1.0, FLOATS, stream)
    for name, (_, times) in LAUNCHES.items():
        for _ in range(times):
            ready.launch(name, stream)
    for i in range(UP):
        device.upload(here, pinned if i % 2 else pageable, stream)
    for _ in range(ACROSS):
        driver.cuMemcpyDtoDAsync_v2(there, here, FLOATS * 4, stream)
    for _ in range(DOWN):
        device.download(pinned, there, stream)
    driver.cuEventRecord(event, stream)
    driver.cuStreamWaitEvent(stream, event, 0)
    driver.cuEventSynchronize(event)
    driver.cuStreamSynchronize(stream)
    driver.cuCtxSynchronize()
    device.close()
    size = FLOATS * ctypes.sizeof(ctypes.c_float)
    print(json.dumps({
        "kernels": {f"{name}__{duration_us}us": times for name, (duration_us, times) in LAUNCHES.items()},
        "copies": {"h2d": [UP, UP * size], "d2h": [DOWN, DOWN * size], "d2d": [ACROSS, ACROSS * size]},
        "memsets": [SETS, SETS * size],
        "calls": dict.fromkeys(("cuEventRecord", "cuStreamWaitEvent", "cuEventSynchronize",
                                "cuStreamSynchronize", "cuCtxSynchronize"), 1),
    }))


if __name__ == "__main__":
    main()
