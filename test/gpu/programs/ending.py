"""Does a little on the GPU (driver API) and ends as it is told.

    ending.py return | exit | raise | abort | terminated | killed
"""
import os
import pathlib
import resource
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "examples" / "train"))

import cuda  # noqa: E402
import kernels  # noqa: E402


def end(way):
    if way == "exit":
        sys.exit(3)
    if way == "raise":
        raise ValueError("as it was told")
    if way == "abort":
        os.abort()
    if way in ("terminated", "killed"):
        os.kill(os.getpid(), signal.SIGTERM if way == "terminated" else signal.SIGKILL)
        time.sleep(60)  # it comes before the next line, or it does not come at all


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    driver = cuda.Driver()
    driver.cuInit(0)
    device = cuda.Device(driver, 0)
    stream = device.stream()
    ready = kernels.Kernels(device, {"short": 2})
    for _ in range(50):
        ready.launch("short", stream)
    driver.cuStreamSynchronize(stream)
    print("worked", flush=True)
    end(sys.argv[1])
    device.close()


if __name__ == "__main__":
    main()
