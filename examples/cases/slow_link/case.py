"""Two ranks run on GPUs that are joined over the bus, while other GPUs of the box are joined better."""
RANKS = 2
PARAMETERS = 5_000_000
GPUS = (0, 3)


def step(job):
    job.gpu.copy_in()
    job.gpu.layers()
    job.all_reduce(PARAMETERS)
    job.gpu.update()
    job.gpu.wait()
