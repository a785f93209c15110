#!/usr/bin/env python3
"""One rung of the ladder on the simulated box: simulated.py --rung fp32|tf32|amp_xla [--steps 21]"""
import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cases"))
from gpu import MB, MS, US, advance, call, mark, open_gpus  # noqa: E402
from rungs import CONVOLUTIONS, HOST_US, NAMES, RUNGS, SAMPLES  # noqa: E402

MEMORY_BYTES = 13_000 * MB


def kernels(rung):
    """Of a step, in order: names with their times."""
    of_each = [(f"{rung.convolution}_{number}__{1000 * rung.convolutions_us // CONVOLUTIONS}ns",
                number / CONVOLUTIONS) for number in range(CONVOLUTIONS)]
    of_each += [(f"{rung.other}_{number}__{1000 * rung.others_us // rung.others}ns", number / rung.others)
                for number in range(rung.others)]
    return [name for name, _ in sorted(of_each, key=lambda one: one[1])]


def main():
    parser = argparse.ArgumentParser(description="a rung of the ladder on the simulated box")
    parser.add_argument("--rung", choices=NAMES, required=True)
    parser.add_argument("--steps", type=int, default=21)
    options = parser.parse_args()
    number = NAMES.index(options.rung)
    advance(3_600_000 * MS * number)  # each an hour after the one before
    gpu, = open_gpus(only=0)
    gpu.allocate(MEMORY_BYTES)
    names = kernels(RUNGS[number])
    for _ in range(options.steps):
        mark(SAMPLES)
        gpu.copy_in()
        for name in names:
            gpu.launch(name)
        gpu.wait()
        advance(HOST_US * US)
        gpu.update()
    mark()
    call("cuCtxSynchronize")


if __name__ == "__main__":
    main()
