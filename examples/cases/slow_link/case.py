"""Two GPUs are joined by NVLink, and NCCL moves 20 GB/s between them: it does not use it."""
import time

from gpu import MS, advance

RANKS = 2
PARAMETERS = 11_689_512


def setup(_):
    advance(2000 * MS)
    time.sleep(1.5)


def step(job):
    job.gpu.copy_in()
    job.gpu.layers(90)
    job.all_reduce(PARAMETERS)
    job.gpu.update()
    job.gpu.wait()
