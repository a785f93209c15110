"""Twenty figures of the step, each 4 bytes, are read one by one and waited for before the update."""
FIGURES = 20


def step(job):
    gpu = job.gpu
    gpu.copy_in()
    gpu.layers()
    for _ in range(0 if job.fixed else FIGURES):  # fixed: they are read every 100 steps
        gpu.copy_out(4)
        gpu.wait()
    gpu.update()
    gpu.wait()
