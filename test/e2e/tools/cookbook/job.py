"""Two ranks with a little of everything that the questions of examples/sql ask about, in stepped time.

    job.py STEPS [KERNEL_US]

What is in it stands in recipe.py. Before the steps the host is busy for LOADING_MS; rank 1 has a kernel of
its own in all steps and is late in LATE of them.
"""
import ctypes
import os
import pathlib
import sys
from ctypes import byref, c_size_t, c_uint64, c_void_p

import recipe

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[4] / "examples" / "cases"))
import communicator  # noqa: E402
from gpu import MS, advance, call, mark, open_gpus  # noqa: E402


class Job:
    def __init__(self, rank, kernel_us):
        self.rank, self.kernel_us = rank, kernel_us
        self.gpu, = open_gpus(only=rank)
        self.comm = communicator.join(rank, recipe.RANKS)
        self.graph = self.captured_graph()
        self.loss = ctypes.create_string_buffer(4)

    def captured_graph(self):
        made, captured = c_void_p(), c_void_p()
        call("cuStreamBeginCapture_v2", self.gpu.stream, 0)
        for node in range(recipe.NODES):
            self.gpu.launch(f"node_{node % 2}__10us")
        call("cuStreamEndCapture", self.gpu.stream, byref(captured))
        call("cuGraphInstantiateWithFlags", byref(made), captured, c_uint64(0))
        return made

    def input(self, number):
        if number % recipe.SLOW_INPUT_EVERY == recipe.SLOW_INPUT_EVERY - 1:
            advance(recipe.SLOW_INPUT_MS * MS)
        self.gpu.copy_in(recipe.PINNED)
        self.gpu.copy_in(recipe.PAGEABLE, source=self.gpu.pageable)

    def kernels(self, number):
        for layer in range(recipe.LAYERS):
            self.gpu.launch(f"layer_{layer}__{self.kernel_us}us", blocks=27 << layer)
        for _ in range(recipe.TINY):
            self.gpu.launch("tiny__2us", blocks=1)
        if self.rank == 1:
            self.gpu.launch("only_here__30us")
            if number in recipe.LATE:
                self.gpu.launch(f"late__{recipe.LATE_US}us")

    def now_and_then(self, number):
        memory, module = c_uint64(), c_void_p()
        if number % recipe.ALLOCATE_EVERY == recipe.ALLOCATE_EVERY - 1:
            call("cuMemAlloc_v2", byref(memory), c_size_t(recipe.ALLOCATED))
        if number == recipe.MODULE_AT:
            call("cuModuleLoadData", byref(module), b"another made up one")

    def step(self, number):
        self.input(number)
        self.kernels(number)
        self.now_and_then(number)
        communicator.collective("AllReduce", self.gpu, self.comm, recipe.FLOATS)
        call("cuGraphLaunch", self.graph, self.gpu.stream)
        self.gpu.launch("adam_update__50us")
        call("cuMemcpyDtoHAsync_v2", self.loss, self.gpu.memory, c_size_t(4), self.gpu.stream)
        self.gpu.wait()


def main():
    if "RANK" not in os.environ:
        return communicator.launch_ranks(recipe.RANKS, recipe.ENVIRONMENT)
    rank, steps = int(os.environ["RANK"]), int(sys.argv[1])
    kernel_us = int(sys.argv[2]) if len(sys.argv) > 2 else recipe.KERNEL_US
    job = Job(rank, kernel_us)
    for _ in range(recipe.LOADING_MS):
        advance(MS)
        call("cuCtxSynchronize")
    for number in range(steps):
        mark()
        job.step(number)
    mark()
    call("cuCtxSynchronize")
    communicator.leave(job.comm)
    return 0


if __name__ == "__main__":
    sys.exit(main())
