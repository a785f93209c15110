"""A pipeline of two stages: the second one copies each micro-batch on the stream on which it computes;
`fixed` copies on a stream of its own, while the micro-batch before is computed."""
MICRO_BATCHES, ACTIVATION_BYTES = 8, 16_000_000


def setup(job):
    first, second = job.gpus
    first.use()
    job.made["done"] = [first.make_event() for _ in range(MICRO_BATCHES)]
    second.use()
    job.made["there"] = second.make_event()
    job.made["copies"] = second.make_stream() if job.fixed else second.stream


def step(job):
    first, second = job.gpus
    first.use()
    first.copy_in()
    for number in range(MICRO_BATCHES):
        first.use()
        first.layers(2, 200)
        first.record(job.made["done"][number])
        second.use()
        second.wait_for(job.made["done"][number], job.made["copies"])
        second.copy_from(first, ACTIVATION_BYTES, job.made["copies"])
        second.record(job.made["there"], job.made["copies"])
        second.wait_for(job.made["there"])
        second.layers(2, 200)
    job.update_and_wait()
