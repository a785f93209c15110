"""A pipeline of four stages and eight micro-batches, in which stage 2 has twice as many layers as the others;
`fixed` shares them out evenly, so that all that is left is that a pipeline fills and empties."""
from ctypes import c_size_t

from communicator import FLOAT, check, nccl

RANKS, MICRO_BATCHES, LONG, COUNT = 4, 8, 2, 1_000_000


def send(job, rank):
    check(nccl.ncclSend(job.gpu.memory, c_size_t(COUNT), FLOAT, rank, job.comm, job.gpu.stream))


def receive(job, rank):
    check(nccl.ncclRecv(job.gpu.memory, c_size_t(COUNT), FLOAT, rank, job.comm, job.gpu.stream))


def compute(job, kernel, length_us):
    layers = 10 if job.fixed else 16 if job.rank == LONG else 8
    for layer in range(layers):
        job.gpu.launch(f"ampere_fp16_s16816gemm_{kernel}_{layer % 2}__{length_us}us")


def step(job):
    first, last = job.rank == 0, job.rank == job.ranks - 1
    for _ in range(MICRO_BATCHES):
        if first:
            job.gpu.copy_in()
        else:
            receive(job, job.rank - 1)
        compute(job, "fwd", 50)
        if not last:
            send(job, job.rank + 1)
    for _ in range(MICRO_BATCHES):
        if not last:
            receive(job, job.rank + 1)
        compute(job, "wgrad", 100)
        if not first:
            send(job, job.rank - 1)
    job.gpu.update()
    job.gpu.wait()
