"""A callback after every step reads the metrics off the GPU and writes them down; `fixed` does so after every 100th."""
from gpu import MS, advance, train_step

CALLBACK_NS = MS // 2
VALUES = 3


def step(job):
    train_step(job.gpu)
    if job.number % (100 if job.fixed else 1):
        return
    for _ in range(VALUES):
        job.gpu.copy_out(4)
        job.gpu.wait()
    advance(CALLBACK_NS)
