"""Ranks that share one loader: the more there are, the longer each waits for its batch."""
import os

from gpu import MS, block

RANKS = int(os.environ["SCALING_RANKS"])
LOADER_MS = 0.5  # for a batch, on the one loader
PARAMETERS = 2_000_000


def step(job):
    job.samples = 64
    block(LOADER_MS * MS * job.ranks)
    job.gpu.copy_in()
    job.gpu.layers(20)
    if job.ranks > 1:
        job.all_reduce(PARAMETERS)
    job.gpu.update()
    job.gpu.wait()
