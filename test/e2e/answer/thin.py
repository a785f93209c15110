"""Programs in which there is next to nothing to see, in stepped time.

    thin.py context|one_step|copies|kernel|marks
"""
import sys
from ctypes import byref, c_void_p

from workloads import Gpu, call, mark, step

STEPS = 20


def context():
    made = c_void_p()
    call("cuDevicePrimaryCtxRetain", byref(made), 0)
    call("cuCtxSetCurrent", made)


def one_step():
    gpu = Gpu(0)
    mark()
    step(gpu)
    mark()


def copies():
    gpu = Gpu(0)
    for _ in range(STEPS):
        mark()
        gpu.copy_in()
        gpu.wait()
    mark()


def kernel():
    Gpu(0).launch("only__10us")


def marks():
    Gpu(0)
    for _ in range(STEPS):
        mark()


if __name__ == "__main__":
    call("cuInit", 0)
    globals()[sys.argv[1]]()
