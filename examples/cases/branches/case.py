"""Twelve times in a step the host reads one number and decides by it what it launches next; `fixed` decides
on the GPU, and both branches are masked."""
from gpu import US, advance

LAYERS = 12


def step(job):
    gpu = job.gpu
    gpu.copy_in()
    for layer in range(LAYERS):
        gpu.layers(2, 100)
        gpu.launch("reduce_max__8us")
        if not job.fixed:
            gpu.copy_out(4)
            gpu.wait()
            advance(30 * US)
        gpu.launch(f"where_{layer % 2}__20us")
    gpu.update()
    gpu.wait()
