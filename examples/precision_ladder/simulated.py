#!/usr/bin/env python3
"""One rung of the ladder on the simulated box.

    simulated.py --rung fp32|tf32|amp|channels_last [--steps 20]
"""
import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cases"))
from gpu import MB, MS, advance, call, mark, open_gpus  # noqa: E402
from rungs import CONVERSIONS, LAYERS, NAMES, OTHERS, RUNGS, SAMPLES, WAYS  # noqa: E402

MEMORY_BYTES = 13_000 * MB


def kernels(rung):
    """Of a step, in order: names with their times."""
    def timed(name, total_us, count):
        return f"{name}__{1000 * total_us // count}ns"

    for layer in range(LAYERS):
        for way in WAYS:
            for name in CONVERSIONS if rung.conversions_us else ():
                yield timed(f"{name}_{layer}", rung.conversions_us, LAYERS * len(WAYS) * len(CONVERSIONS))
            name = rung.convolutions.format(way)
            yield timed(f"{name}_{layer}", rung.convolutions_us, LAYERS * len(WAYS))
        for name in OTHERS:
            yield timed(f"{name}_{layer}", rung.others_us, LAYERS * len(OTHERS))


def main():
    parser = argparse.ArgumentParser(description="a rung of the ladder on the simulated box")
    parser.add_argument("--rung", choices=NAMES, required=True)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    number = NAMES.index(options.rung)
    rung = RUNGS[number]
    advance(3_600_000 * MS * number)  # each an hour after the one before
    gpu, = open_gpus(only=0)
    gpu.allocate(MEMORY_BYTES)
    names = list(kernels(rung))
    for _ in range(options.steps):
        mark(SAMPLES)
        gpu.copy_in()
        for name in names:
            gpu.launch(name)
        gpu.update()
        gpu.wait()
    mark()
    call("cuCtxSynchronize")


if __name__ == "__main__":
    main()
