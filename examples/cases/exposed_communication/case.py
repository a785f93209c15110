"""All gradients are reduced when backward is over; `fixed` reduces each bucket while the layers before it
compute."""
RANKS = 2
BUCKETS, PARAMETERS = 16, 3_250_000  # of a bucket: 13 MB


def setup(job):
    job.made.update(stream=job.gpu.make_stream(), ready=[job.gpu.make_event() for _ in range(BUCKETS + 1)])


def reduce(job, bucket):
    gpu, stream, ready = job.gpu, job.made["stream"], job.made["ready"]
    gpu.record(ready[bucket])
    gpu.wait_for(ready[bucket], stream)
    job.all_reduce(PARAMETERS, stream=stream)


def step(job):
    gpu, stream, ready = job.gpu, job.made["stream"], job.made["ready"]
    gpu.copy_in()
    gpu.layers(10)
    for bucket in range(BUCKETS):
        gpu.layers(1, 150)
        if job.fixed:
            reduce(job, bucket)
    if not job.fixed:
        for bucket in range(BUCKETS):
            reduce(job, bucket)
    gpu.record(ready[BUCKETS], stream)
    gpu.wait_for(ready[BUCKETS])
    gpu.update()
    gpu.wait()
