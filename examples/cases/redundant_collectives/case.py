"""Gradients of four micro-batches are reduced after each of them; once, after the last, would do."""
RANKS = 2
PARAMETERS, MICRO_BATCHES = 11_689_512, 4


def step(job):
    gpu = job.gpu
    for batch in range(MICRO_BATCHES):
        gpu.copy_in()
        gpu.layers(20)
        if not job.fixed or batch == MICRO_BATCHES - 1:
            job.all_reduce(PARAMETERS)
    gpu.update()
    gpu.wait()
