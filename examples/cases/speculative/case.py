"""A small model guesses four tokens, the large one checks them: two cadences, and nothing is wrong."""
from served import Model

SERVES = True


def setup(job):
    job.made["large"], job.made["small"] = Model(job, slower=2), Model(job)


def step(job):
    if job.number % 10 == 0:
        job.made["large"].prefill()
        return job.made["large"].read_back()
    for _ in range(4):
        job.made["small"].decode(4)
        job.made["small"].read_back()
    job.made["large"].decode(4)
    job.made["large"].read_back()
