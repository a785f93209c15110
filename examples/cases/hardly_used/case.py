"""A model that is too small for its GPU, and a host that works between its steps; `fixed` is a model of
useful size, which computes all the time."""
from gpu import HALF_GEMM, MS, advance


def setup(job):
    job.memory_gib = 12 if job.fixed else 0


def step(job):
    gpu = job.gpu
    gpu.copy_in()
    for layer in range(6):
        gpu.launch(f"{HALF_GEMM}_{layer}__{6000 if job.fixed else 2000}us")
    gpu.update()
    gpu.wait()
    if not job.fixed:
        advance(28 * MS)
