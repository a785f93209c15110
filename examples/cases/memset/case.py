"""Gradients are set to zero before each step, although backward overwrites them."""
from gpu import MB

GRADIENTS = 200 * MB


def step(job):
    gpu = job.gpu
    gpu.copy_in()
    if not job.fixed:
        gpu.clear(GRADIENTS)
    gpu.layers()
    gpu.update()
    gpu.wait()
