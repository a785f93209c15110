"""In each step the same tables go to the GPU, results go back and a tensor is moved about, each on a stream
of its own, and the kernels wait for them. The batch itself is copied beside them, as it should be."""
from gpu import MB


def setup(job):
    names = ("batch", "tables", "results", "moved", "computed")
    job.made.update({name: (job.gpu.make_stream(), job.gpu.make_event()) for name in names})


def after(gpu, stream, *events):
    for event in events:
        gpu.wait_for(event, stream)


def step(job):
    gpu, made = job.gpu, job.made
    (batch, copied), (tables, up), (results, down), (moved, across), (_, computed) = made.values()
    if not job.fixed:
        for _ in range(3):
            gpu.copy_in(4 * MB, stream=tables)
        gpu.record(up, tables)
        after(gpu, gpu.stream, up)
        after(gpu, batch, up)
    gpu.layers()
    gpu.copy_in(5 * MB, stream=batch)  # for the next step
    gpu.record(copied, batch)
    if not job.fixed:
        gpu.record(computed)
        after(gpu, results, computed)
        gpu.copy_out(12 * MB, stream=results)
        gpu.record(down, results)
        after(gpu, moved, down)
        gpu.copy_within(100 * MB, stream=moved)
        gpu.record(across, moved)
        after(gpu, gpu.stream, across)
    after(gpu, gpu.stream, copied)
    gpu.update()
    gpu.wait()
