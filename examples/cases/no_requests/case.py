"""Nobody asks for anything in between: the server sleeps, and nothing is wrong."""
from gpu import MS, block
from served import Model

SERVES = True


def setup(job):
    job.made["model"] = Model(job)


def step(job):
    model = job.made["model"]
    if job.number % 15 == 0:
        if not job.fixed:
            block(30 * MS)
        model.prefill()
    else:
        model.decode(4)
    model.read_back()
