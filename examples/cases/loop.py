"""Runs the training loop of a case: loop.py FOLDER STEPS [fixed]

`case.py` in the folder has `step(job)`, and may have `setup(job)`. Where it says `RANKS = n`, the loop runs
in so many processes, each with its GPU and a communicator of all; where `SERVES = True`, nobody marks its
steps, as no server does. `fixed` is the same loop without what is wrong.
"""
import importlib.util
import os
import pathlib
import sys

import communicator
from gpu import call, mark, open_gpus

GIB = 1 << 30


class Job:
    """What a step is given. A case may keep things of its own in `made`."""

    def __init__(self, fixed):
        self.fixed, self.number, self.samples, self.made = fixed, 0, 64, {}
        self.rank, self.ranks = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
        self.memory_gib = 12  # in use on each GPU: most of it, so there is no room for a larger batch
        self.gpus = open_gpus(only=self.rank if self.ranks > 1 else None)
        self.gpu = self.gpus[0]
        self.comm = communicator.join(self.rank, self.ranks) if self.ranks > 1 else None

    def take_memory(self):
        for gpu in self.gpus:
            gpu.use()
            if self.memory_gib:
                gpu.allocate(self.memory_gib * GIB)
        self.gpu.use()

    def update_and_wait(self):
        """Every GPU is given its update before one is waited for."""
        for gpu in self.gpus:
            gpu.use()
            gpu.update()
        for gpu in self.gpus:
            gpu.use()
            gpu.wait()

    def all_reduce(self, count, dtype=communicator.FLOAT, stream=None):
        communicator.collective("AllReduce", self.gpu, self.comm, count, dtype, stream)


def load(folder):
    spec = importlib.util.spec_from_file_location("case", folder / "case.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    case, steps, fixed = load(pathlib.Path(sys.argv[1])), int(sys.argv[2]), "fixed" in sys.argv[3:]
    ranks = getattr(case, "RANKS", 1)
    if ranks > 1 and "RANK" not in os.environ:
        return communicator.launch_ranks(ranks)
    job = Job(fixed)
    if hasattr(case, "setup"):
        case.setup(job)
    job.take_memory()
    is_marked = not getattr(case, "SERVES", False)
    for job.number in range(steps):
        if is_marked:
            mark(job.samples)
        case.step(job)
    if is_marked:
        mark()
    if hasattr(case, "finish"):
        case.finish(job)
    for gpu in job.gpus:
        gpu.use()
        call("cuCtxSynchronize")
    if job.comm:
        communicator.leave(job.comm)
    return 0


if __name__ == "__main__":
    sys.exit(main())
