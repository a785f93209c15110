"""The next batch is copied while this one is worked on, and the host is always a step ahead of the GPU."""


def setup(job):
    job.made.update(copies=job.gpu.make_stream(), copied=job.gpu.make_event(),
                    over=[job.gpu.make_event(), job.gpu.make_event()])


def step(job):
    gpu, made = job.gpu, job.made
    gpu.copy_in(stream=made["copies"])
    gpu.record(made["copied"], made["copies"])
    gpu.wait_for(made["copied"])
    gpu.layers()
    gpu.update()
    gpu.record(made["over"][job.number % 2])
    if job.number > 0:
        gpu.wait_on_host(made["over"][1 - job.number % 2])  # for the step before
