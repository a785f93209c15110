"""One process, four GPUs: GPU 0 gathers the others' outputs and computes the loss of all of them alone."""
OUTPUT_BYTES = 2_000_000


def setup(job):
    job.made["done"] = []
    for gpu in job.gpus:
        gpu.use()
        job.made["done"].append(gpu.make_event())


def step(job):
    first, *others = job.gpus
    for gpu in reversed(job.gpus):
        gpu.use()
        gpu.copy_in()
        gpu.layers(4, 800)
        if job.fixed:  # each computes the loss of its own part
            gpu.launch("softmax_loss__100us")
    if not job.fixed:
        for gpu, done in zip(others, job.made["done"][1:]):
            gpu.use()
            gpu.record(done)
            first.use()
            first.wait_for(done)
            first.copy_from(gpu, OUTPUT_BYTES)
        first.launch("softmax_loss__400us")
    job.update_and_wait()
