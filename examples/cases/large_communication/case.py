"""There is more to reduce in a step than its few samples compute; `fixed` adds up the gradients of eight
steps."""
import communicator

RANKS = 2
BUCKETS, PARAMETERS, TOGETHER = 4, 13_000_000, 8  # in 16 bits


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
                job.all_reduce(PARAMETERS, communicator.HALF, stream)
    gpu.record(ready[BUCKETS], stream)
    gpu.wait_for(ready[BUCKETS])
    gpu.update()
    gpu.wait()
