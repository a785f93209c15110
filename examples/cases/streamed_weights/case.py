"""The model does not fit: the weights of its layers come from the host in each iteration."""
from gpu import MB
from served import Model

SERVES = True
WEIGHTS = 15 * MB


def setup(job):
    job.made["model"] = Model(job)


def step(job):
    model = job.made["model"]
    if not job.fixed:
        for _ in range(3):
            job.gpu.copy_in(WEIGHTS)
    model.work(job.number)
    model.read_back()
