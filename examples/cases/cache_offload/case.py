"""There is no room for the caches of all sequences: they go out and come back in each iteration."""
from gpu import MB
from served import Model

SERVES = True
CACHE = 15 * MB


def setup(job):
    job.made["model"] = Model(job)


def step(job):
    model = job.made["model"]
    if not job.fixed:
        job.gpu.copy_out(CACHE)
        job.gpu.copy_in(CACHE)
    model.work(job.number)
    model.read_back()
