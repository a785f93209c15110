"""The decode's graph is updated in front of each launch, because an address in it changes. `fixed` keeps the
address, and so the graph."""
from served import Model

SERVES = True
BATCH = 4


def setup(job):
    model = job.made["model"] = Model(job)
    job.made["newer"] = job.gpu.captured(model.submit_decode)
    model.graphs[BATCH] = job.gpu.capture(model.submit_decode)


def step(job):
    model = job.made["model"]
    if job.number % 15 == 0:
        model.prefill()
    else:
        if not job.fixed:
            job.gpu.update_graph(model.graphs[BATCH], job.made["newer"])
        model.decode(BATCH)
    model.read_back()
