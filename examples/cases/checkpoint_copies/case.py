"""A checkpoint of 400 MB every 10 steps, copied while the GPU does nothing else; `fixed` makes a snapshot on
the GPU and copies it on a stream of its own, a tenth in each step, while that computes."""
EVERY, PARTS, PART_BYTES = 10, 25, 16_000_000


def setup(job):
    job.made.update(stream=job.gpu.make_stream(), snapshot=job.gpu.make_event())


def write(gpu, parts, stream=None):
    for _ in range(parts):
        gpu.copy_out(PART_BYTES, stream=stream)


def step(job):
    gpu, stream = job.gpu, job.made["stream"]
    if job.fixed:
        gpu.wait_for(job.made["snapshot"], stream)
        write(gpu, PARTS // EVERY, stream)
    gpu.copy_in()
    gpu.layers(10, 400)
    gpu.update()
    if job.number % EVERY == EVERY - 1:
        if job.fixed:
            gpu.copy_within(PART_BYTES)
            gpu.record(job.made["snapshot"])
        else:
            write(gpu, PARTS)
    gpu.wait()
