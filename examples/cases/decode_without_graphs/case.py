"""A decode of small kernels is launched one by one: a launch takes the host longer than the GPU."""
from served import Model

SERVES = True


def setup(job):
    job.made["model"] = Model(job)


def step(job):
    model = job.made["model"]
    if job.number % 10 == 0:
        model.prefill()
    else:
        model.decode(1 + job.number // 10 % 4, has_graph=job.fixed)
    model.read_back()
