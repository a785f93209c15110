"""Products in 16 bits, gradients in 32: transfers take a little longer than the compute that hides them.
`fixed` reduces gradients in 16 bits."""
import communicator

RANKS = 2
BUCKETS, PARAMETERS = 16, 5_000_000


def setup(job):
    job.made.update(stream=job.gpu.make_stream(), ready=[job.gpu.make_event() for _ in range(BUCKETS + 1)])


def step(job):
    gpu, stream, ready = job.gpu, job.made["stream"], job.made["ready"]
    gpu.copy_in()
    for bucket in range(BUCKETS):
        gpu.layers(1, 94)
        gpu.record(ready[bucket])
        gpu.wait_for(ready[bucket], stream)
        job.all_reduce(PARAMETERS, communicator.HALF if job.fixed else communicator.FLOAT, stream)
    gpu.record(ready[BUCKETS], stream)
    gpu.wait_for(ready[BUCKETS])
    gpu.update()
    gpu.wait()
