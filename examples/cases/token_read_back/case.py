"""Each iteration reads forty numbers one by one, and waits for each: lengths, tokens, who is done."""
from served import Model

SERVES = True
LOOKS = 40


def setup(job):
    job.made["model"] = Model(job)


def step(job):
    model = job.made["model"]
    model.work(job.number)
    for _ in range(1 if job.fixed else LOOKS):
        model.read_back(4)
