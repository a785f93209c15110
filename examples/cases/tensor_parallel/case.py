"""Two ranks add up 64 KiB behind each layer, and each time that takes the latency of NCCL."""
from served import Model

RANKS = 2
SERVES = True
COUNT = 16384


def setup(job):
    job.made["model"] = Model(job, reduce=None if job.fixed else lambda: job.all_reduce(COUNT))


def step(job):
    model = job.made["model"]
    if job.number % 15 == 0:
        model.prefill()
    else:
        model.decode(4, has_graph=False)
    model.read_back()
