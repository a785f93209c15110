"""Batches are small: the GPU is 62 % busy and mostly empty; with 16 times the samples (`fixed`) it is 98 % busy."""
from gpu import HALF_GEMM, MS, US, advance

SAMPLES, TIMES = 64, 16
HOST_NS = 645 * US  # of a step, whatever its batch is
BLOCKS_OF_SAMPLE, PROCESSORS = 1, 132


def setup(job):
    job.memory_gib = 9 if job.fixed else 1
    job.samples = SAMPLES * (TIMES if job.fixed else 1)


def step(job):
    gpu = job.gpu
    blocks = job.samples * BLOCKS_OF_SAMPLE
    waves = -(-blocks // PROCESSORS)
    gpu.copy_in(1000 * job.samples)
    for layer in range(10):
        gpu.launch(f"{HALF_GEMM}_{layer}__{waves * 100}us", blocks=blocks)
    gpu.wait()
    advance(HOST_NS)
    gpu.update()
    gpu.wait()
