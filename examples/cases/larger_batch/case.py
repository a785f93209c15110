"""The batch is small, and what each step costs the host is as much for a large one: the GPU is 62 % busy,
and with 32 times the samples (`fixed`) 98 %."""
from gpu import HALF_GEMM, US, advance

SAMPLES, TIMES = 32, 32
HOST_NS = 300 * US
SMALL_KERNELS = 100  # 1 us each, and 4 us to launch


def setup(job):
    job.memory_gib = 9 if job.fixed else 0
    job.samples = SAMPLES * (TIMES if job.fixed else 1)


def step(job):
    gpu = job.gpu
    gpu.copy_in(1000 * job.samples)
    for layer in range(10):
        gpu.launch(f"{HALF_GEMM}_{layer}__{100 * job.samples // SAMPLES}us")
    gpu.wait()
    advance(HOST_NS)
    for _ in range(SMALL_KERNELS):
        gpu.launch("multi_tensor_apply_kernel_adam__1us")
    gpu.wait()
