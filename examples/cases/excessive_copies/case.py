"""Each step copies the same tables to the GPU, results back and tensors about, each on a stream of its own, and waits."""
MB = 1_000_000


def setup(job):
    job.made["copies"] = [(job.gpu.make_stream(), job.gpu.make_event()) for _ in range(3)]


def step(job):
    gpu = job.gpu
    if not job.fixed:
        (to_gpu, up), (to_host, down), (within, across) = job.made["copies"]
        for _ in range(4):
            gpu.copy_in(5 * MB, stream=to_gpu)
        gpu.copy_out(12 * MB, stream=to_host)
        gpu.copy_within(100 * MB, stream=within)
        for stream, event in ((to_gpu, up), (to_host, down), (within, across)):
            gpu.record(event, stream)
            gpu.wait_for(event)
    gpu.copy_in()
    gpu.layers()
    gpu.update()
    gpu.wait()
