"""Every fourth batch is of a new shape, and the compiler makes and loads 40 kernels anew; `fixed` pads to one shape."""
import ctypes
from ctypes import byref, c_void_p

from gpu import US, advance, call, train_step

KERNELS, COMPILE_NS, WARM_UP = 40, 30 * US, 4


def compile_kernels():
    for _ in range(KERNELS):
        module = c_void_p()
        advance(COMPILE_NS)
        call("cuModuleLoadData", byref(module), ctypes.c_char_p(b"made up"))


def step(job):
    is_new = job.number % 4 == 0 or job.number < WARM_UP
    train_step(job.gpu, between=compile_kernels if is_new and not (job.fixed and job.number > WARM_UP) else None)
