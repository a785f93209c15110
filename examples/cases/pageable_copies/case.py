"""The batch is in ordinary memory: its copy goes through the driver's staging buffer, and the host waits for
it."""
BATCH = 2_000_000


def step(job):
    gpu = job.gpu
    gpu.copy_in(BATCH, source=gpu.pinned if job.fixed else gpu.pageable)
    gpu.layers(30)
    gpu.update()
    gpu.wait()
