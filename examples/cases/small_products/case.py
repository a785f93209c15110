"""Eighty matrix products of 1024 x 1024 x 1024 in a step, asked of cuBLAS one by one: the host needs 20 us
for each and the GPU 10 us. `fixed` captures them into a CUDA graph once and launches that."""
import ctypes
import sys

PRODUCTS, SIZE = 80, 1024
HALF, SINGLE, DEFAULT = 2, 68, -1  # cudaDataType, cublasComputeType_t, cublasGemmAlgo_t


class Cublas:
    def __init__(self, stream):
        self.library, self.handle = ctypes.CDLL("libcublas.so.12"), ctypes.c_void_p()
        self.call("cublasCreate_v2", ctypes.byref(self.handle))
        self.call("cublasSetStream_v2", self.handle, stream)

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code:
            sys.exit(f"{name}: {code}")

    def multiply(self, size):
        self.call("cublasGemmEx", self.handle, 0, 0, size, size, size, None, None, HALF, size,
                  None, HALF, size, None, None, HALF, size, SINGLE, DEFAULT)


def multiply(job):
    for _ in range(PRODUCTS):
        job.made["cublas"].multiply(SIZE)


def setup(job):
    job.made["cublas"] = Cublas(job.gpu.stream)
    if job.fixed:
        job.made["graph"] = job.gpu.capture(lambda: multiply(job))


def step(job):
    gpu = job.gpu
    gpu.copy_in()
    if job.fixed:
        gpu.launch_graph(job.made["graph"])
    else:
        multiply(job)
    gpu.update()
    gpu.wait()
