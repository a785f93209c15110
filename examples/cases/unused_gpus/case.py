"""The loop of `healthy` on the first GPU; the second has a context, and nothing to do."""


def setup(job):
    job.made["over"] = {}
    for gpu in job.gpus:
        gpu.use()
        job.made["over"][gpu] = [gpu.make_event(), gpu.make_event()]


def step(job):
    used = job.gpus if job.fixed else job.gpus[:1]
    for gpu in used:
        gpu.use()
        gpu.layers()
        gpu.update()
        gpu.record(job.made["over"][gpu][job.number % 2])
    for gpu in used if job.number > 0 else []:
        gpu.use()
        gpu.wait_on_host(job.made["over"][gpu][1 - job.number % 2])  # for the step before
