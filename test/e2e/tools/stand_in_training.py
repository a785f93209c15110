#!/usr/bin/env python3
"""Does on the box what a training script in PyTorch does on a GPU, as far as `real.record` can tell: steps
with marks, a loader that calls the driver, too, and what came of it in the last line. Clocks are stepped."""
import argparse
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "examples" / "cases"))
from gpu import MS, advance, call, mark, open_gpus  # noqa: E402

BATCH, STEP_MS = 32, 25


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--variant", "--rung")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--fails", action="store_true", help="under the shim")
    parser.add_argument("--loader", action="store_true")
    options, _ = parser.parse_known_args()
    if options.fails and "libgpushim" in os.environ.get("LD_PRELOAD", ""):
        sys.exit("out of memory")
    gpu, = open_gpus(only=0)
    if options.loader:
        gpu.layers()
        gpu.wait()
        return
    subprocess.run([sys.executable, __file__, "--loader"], check=True)
    for _ in range(options.steps):
        mark(BATCH)
        gpu.copy_in()
        gpu.layers()
        gpu.wait()
        advance(STEP_MS * MS)
    mark(BATCH)
    call("cuCtxSynchronize")
    took_s = options.steps * (STEP_MS + 1.1) / 1000  # ten kernels of 100 us, their launches and the copy
    print(json.dumps({"pid": os.getpid(), "steps": options.steps, "batch": BATCH, "took_s": took_s,
                      "samples_per_s": options.steps * BATCH / took_s}))


if __name__ == "__main__":
    main()
