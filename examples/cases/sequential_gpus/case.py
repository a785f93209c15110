"""The model is cut in two halves on two GPUs, and each half waits for the other's output: one works at a
time."""
ACTIVATION_BYTES = 4_000_000


def setup(job):
    job.made["done"] = []
    for gpu in job.gpus:
        gpu.use()
        job.made["done"].append(gpu.make_event())


def step(job):
    for number, gpu in enumerate(job.gpus):
        gpu.use()
        if number and not job.fixed:  # fixed: two halves of the batch, each on a whole model
            gpu.wait_for(job.made["done"][0])
            gpu.copy_from(job.gpus[0], ACTIVATION_BYTES)
        else:
            gpu.copy_in()
        gpu.layers(5, 400)
        gpu.record(job.made["done"][number])
    job.update_and_wait()
