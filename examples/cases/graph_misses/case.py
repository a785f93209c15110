"""A batch of 3 or of 5 sequences has no graph: one decode in four is launched kernel by kernel."""
from served import Model

SERVES = True
CAPTURED = (1, 2, 4, 8)


def setup(job):
    job.made["model"] = Model(job)


def step(job):
    model, batch = job.made["model"], (2, 3, 4, 5)[job.number // 6 % 4]
    if job.number % 20 == 0:
        model.prefill()
    else:
        model.decode(batch, has_graph=job.fixed or batch in CAPTURED or batch == 5)
    model.read_back()
