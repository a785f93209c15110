"""A long prompt is worked through at once, and all sequences wait for it."""
from served import Model

SERVES = True
LONG, CHUNKS = 64, 16


def setup(job):
    job.made["model"] = Model(job)


def step(job):
    model = job.made["model"]
    turn = job.number % 40
    if job.fixed and turn >= 40 - CHUNKS:
        model.prefill(LONG // CHUNKS)
    elif not job.fixed and turn == 39:
        model.prefill(LONG)
    else:
        model.decode(4)
        model.read_back()
        return
    model.read_back()
    model.decode(4)  # beside each chunk all others go on
    model.read_back()
