"""Each of 50 layers' gradients are summed by an AllReduce of its own; `fixed` sums them together, in one
bucket. Beside the kernels another one runs, of a large embedding: so it is known what the link can do."""
RANKS = 2
LAYERS, PARAMETERS_OF_ONE, EMBEDDING = 50, 20_000, 2_600_000


def setup(job):
    job.made["beside"] = job.gpu.make_stream()


def step(job):
    job.gpu.copy_in()
    job.all_reduce(EMBEDDING, stream=job.made["beside"])
    job.gpu.layers(20)
    if job.fixed:
        job.all_reduce(LAYERS * PARAMETERS_OF_ONE)
    else:
        for _ in range(LAYERS):
            job.all_reduce(PARAMETERS_OF_ONE)
    job.gpu.update()
    job.gpu.wait()
