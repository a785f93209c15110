"""The thread that launches also turns tokens into text, and sends it to all who wait: 30 us each."""
from gpu import US, advance
from served import Model

SERVES = True
SEQUENCES, EACH_NS = 16, 30 * US


def setup(job):
    job.made["model"] = Model(job)


def step(job):
    model = job.made["model"]
    model.work(job.number, batch=SEQUENCES)
    model.read_back()
    if not job.fixed:  # else another thread does
        for _ in range(SEQUENCES):
            advance(EACH_NS)
