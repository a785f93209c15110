"""Gradients of four parts of the batch are accumulated, and each part is copied when the GPU has nothing else
to do; `fixed` copies on a stream of its own, while the part before is computed."""
from gpu import MB

PARTS, PART_BYTES, LABEL_BYTES = 4, 8 * MB, 1 * MB


def setup(job):
    gpu, is_ahead = job.gpu, job.fixed
    job.made.update(copies=gpu.make_stream() if is_ahead else gpu.stream, there=gpu.make_event())


def step(job):
    gpu, copies, there = job.gpu, job.made["copies"], job.made["there"]
    for _ in range(PARTS):
        gpu.copy_in(PART_BYTES, stream=copies)
        gpu.copy_in(LABEL_BYTES, stream=copies)
        gpu.record(there, copies)
        gpu.wait_for(there)
        gpu.layers(10, 200)
    gpu.update()
    if job.number % 5 == 4:
        gpu.wait()
