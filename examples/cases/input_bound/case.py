"""The launching thread decodes the batch itself, and the GPU has nothing to do until it is there."""
from gpu import MS, advance, train_step

DECODE_NS = 3 * MS


def step(job):
    synthetic = job.fixed  # made once, and used again and again
    train_step(job.gpu, before=None if synthetic else lambda: advance(DECODE_NS))
