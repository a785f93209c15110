"""The decode's graph is captured again and updated in front of each launch, because an address in it changes.
`fixed` keeps the address, and so the graph."""
from gpu import call
from served import Model

SERVES = True
BATCH = 4


def setup(job):
    model = job.made["model"] = Model(job)
    model.graphs[BATCH] = job.gpu.capture(model.submit_decode)


def step(job):
    model = job.made["model"]
    if job.number % 15 == 0:
        model.prefill()
    else:
        if not job.fixed:
            newer = job.gpu.captured(model.submit_decode)
            job.gpu.update_graph(model.graphs[BATCH], newer)
            call("cuGraphDestroy", newer)
        model.decode(BATCH)
    model.read_back()
