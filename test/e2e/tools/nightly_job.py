"""A small training on the box, as it runs every night: nightly_job.py STEPS COPY_MB KERNELS KERNEL_US

A step copies its input from pinned memory, launches its kernels behind it in the same stream, and waits. Each
rank of a job begins its day as many seconds after the clock's start as NIGHT_S says.
"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "examples" / "cases"))
from gpu import HALF_GEMM, MB, advance, call, mark, open_gpus  # noqa: E402


def main():
    steps, copy_mb, kernels, kernel_us = map(int, sys.argv[1:5])
    advance(int(os.environ.get("NIGHT_S", "0")) * 1_000_000_000)
    gpu, = open_gpus(batch_bytes=copy_mb * MB, only=int(os.environ.get("RANK", "0")),
                     host_bytes=max(copy_mb, 1) * MB)
    for _ in range(steps):
        mark(64)
        gpu.copy_in()
        gpu.layers(kernels, kernel_us)
        gpu.wait()
    mark()
    call("cuCtxSynchronize")


if __name__ == "__main__":
    main()
