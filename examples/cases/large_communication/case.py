"""There is more to reduce in a step than its few samples compute; `fixed` adds up the gradients of eight
steps."""
RANKS = 2
BUCKETS, PARAMETERS, TOGETHER = 4, 6_500_000, 8


def setup(job):
    job.made.update(stream=job.gpu.make_stream(), ready=[job.gpu.make_event() for _ in range(BUCKETS + 1)])


def step(job):
    gpu, stream, ready = job.gpu, job.made["stream"], job.made["ready"]
    for batch in range(TOGETHER if job.fixed else 1):
        gpu.copy_in()
        for bucket in range(BUCKETS):
            gpu.layers(1, 150)
            if batch == (TOGETHER if job.fixed else 1) - 1:
                gpu.record(ready[bucket])
                gpu.wait_for(ready[bucket], stream)
                job.all_reduce(PARAMETERS, stream=stream)
    gpu.record(ready[BUCKETS], stream)
    gpu.wait_for(ready[BUCKETS])
    gpu.update()
    gpu.wait()
