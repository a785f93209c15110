"""Each of 50 layers' gradients are summed by an AllReduce of its own; `fixed` sums them together, in one bucket."""
RANKS = 2
LAYERS, PARAMETERS_OF_ONE = 50, 20_000


def step(job):
    job.gpu.copy_in()
    job.gpu.layers(20)
    if job.fixed:
        job.all_reduce(LAYERS * PARAMETERS_OF_ONE)
    else:
        for _ in range(LAYERS):
            job.all_reduce(PARAMETERS_OF_ONE)
    job.gpu.update()
    job.gpu.wait()
