"""Ranks that compute and then do a collective, in stepped time, GPU r for rank r.

    ranks.py RANKS STEPS OPERATION FLOATS [KERNEL_US]

In each step ten kernels (1000 us each, or KERNEL_US), then the collective on the same stream, then a wait.
With PACKED in the environment gradients are concatenated before it for 300 us, the collective is on a stream
of its own, then they are copied and split for 200 us, and an optimizer follows.
"""
import os
import sys

from workloads import call, mark, open_gpus  # first: it says where the next one is
from communicator import collective, join, launch_ranks, leave


def packed(gpu, comm_stream, reduce):
    ready, reduced = gpu.make_event(), gpu.make_event()
    gpu.launch("CatArrayBatchedCopy__300us")
    gpu.record(ready)
    gpu.wait_for(ready, comm_stream)
    reduce(comm_stream)
    gpu.record(reduced, comm_stream)
    gpu.wait_for(reduced)
    gpu.launch("foreach_copy_kernel__50us")
    gpu.launch("vectorized_elementwise_kernel__100us")
    gpu.launch("split_with_sizes_copy__150us")
    gpu.update()


def main():
    ranks, steps, name, floats = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    kernel_us = int(sys.argv[5]) if len(sys.argv) > 5 else 1000
    if "RANK" not in os.environ:
        return launch_ranks(ranks)
    rank = int(os.environ["RANK"])
    gpu, = open_gpus(only=rank)
    comm_stream = gpu.make_stream()
    comm = join(rank, ranks)
    for _ in range(steps):
        mark()
        for layer in range(10):
            gpu.launch(f"layer_{layer}__{kernel_us}us")
        if "PACKED" in os.environ:
            packed(gpu, comm_stream, lambda stream: collective(name, gpu, comm, floats, stream=stream))
        else:
            collective(name, gpu, comm, floats)
        gpu.wait()
    mark()
    call("cuCtxSynchronize")
    leave(comm)
    return 0


if __name__ == "__main__":
    sys.exit(main())
