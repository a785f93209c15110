"""Ranks that compute and then do a collective, in stepped time, GPU r for rank r.

    ranks.py RANKS STEPS OPERATION FLOATS [KERNEL_US]

In each step ten kernels (1000 us each, or KERNEL_US), then the collective on the same stream, then a wait.
"""
import os
import sys

from workloads import call, mark, open_gpus  # first: it says where the next one is
from communicator import collective, join, launch_ranks, leave


def main():
    ranks, steps, name, floats = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    kernel_us = int(sys.argv[5]) if len(sys.argv) > 5 else 1000
    if "RANK" not in os.environ:
        return launch_ranks(ranks)
    rank = int(os.environ["RANK"])
    gpu, = open_gpus(only=rank)
    comm = join(rank, ranks)
    for _ in range(steps):
        mark()
        for layer in range(10):
            gpu.launch(f"layer_{layer}__{kernel_us}us")
        collective(name, gpu, comm, floats)
        gpu.wait()
    mark()
    call("cuCtxSynchronize")
    leave(comm)
    return 0


if __name__ == "__main__":
    sys.exit(main())
