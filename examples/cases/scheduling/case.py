"""Between two iterations the host schedules for 400 us, and the GPU waits."""
from gpu import US, advance
from served import Model

SERVES = True
SCHEDULE_NS = 400 * US


def setup(job):
    job.made["model"] = Model(job)


def step(job):
    model = job.made["model"]
    if not job.fixed:
        advance(SCHEDULE_NS)
    model.work(job.number)
    if job.fixed:  # the next iteration is scheduled while this one runs
        advance(SCHEDULE_NS)
    model.read_back()
