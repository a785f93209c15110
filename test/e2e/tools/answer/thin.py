"""Programs in which there is next to nothing to see, in stepped time.

    thin.py context|one_step|copies|kernel|marks
"""
import sys
from ctypes import byref, c_void_p

from workloads import call, mark, open_gpus, step

STEPS = 20


def context():
    call("cuInit", 0)
    made = c_void_p()
    call("cuDevicePrimaryCtxRetain", byref(made), 0)
    call("cuCtxSetCurrent", made)


def one_step():
    gpu, = open_gpus(only=0)
    mark()
    step(gpu)
    mark()


def copies():
    gpu, = open_gpus(only=0)
    for _ in range(STEPS):
        mark()
        gpu.copy_in()
        gpu.wait()
    mark()


def kernel():
    gpu, = open_gpus(only=0)
    gpu.launch("only__10us")


def marks():
    open_gpus(only=0)
    for _ in range(STEPS):
        mark()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
