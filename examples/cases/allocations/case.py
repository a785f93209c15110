"""A buffer is allocated for each layer and freed again: each time the host waits for the driver, and the
GPU for the host."""
from gpu import MB, call

BUFFERS = 16


def step(job):
    gpu = job.gpu
    gpu.copy_in()
    for layer in range(BUFFERS):
        buffer = None if job.fixed else gpu.allocate(4 * MB)
        gpu.layers(1, 60)
        if buffer:
            call("cuMemFree_v2", buffer)  # waits until nothing runs
    gpu.update()
    gpu.wait()
