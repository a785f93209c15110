"""Launches two kernels, each from lines of its own, one of them beneath a function of the interpreter's.
Argument: how often."""
import ctypes
import functools
import sys

CUDA = ctypes.CDLL("libcuda.so.1")
ONE = ctypes.c_uint(1)


def must(result):
    if result:
        sys.exit(f"error {result}")


def launch(kernel):
    must(CUDA.cuLaunchKernel(kernel, ONE, ONE, ONE, ONE, ONE, ONE, 0, None, None, None))  # first


@functools.singledispatch
def again(kernel):
    must(CUDA.cuLaunchKernel(kernel, ONE, ONE, ONE, ONE, ONE, ONE, 0, None, None, None))  # second


def main(times):
    context, device, module = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_void_p()
    must(CUDA.cuInit(0))
    must(CUDA.cuDeviceGet(ctypes.byref(device), 0))
    must(CUDA.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    must(CUDA.cuCtxSetCurrent(context))
    must(CUDA.cuModuleLoadData(ctypes.byref(module), b"an image"))
    first, second = ctypes.c_void_p(), ctypes.c_void_p()
    must(CUDA.cuModuleGetFunction(ctypes.byref(first), module, b"first__1us"))
    must(CUDA.cuModuleGetFunction(ctypes.byref(second), module, b"second__1us"))
    for _ in range(times):
        launch(first)
        again(second)
        must(CUDA.cuCtxSynchronize())


main(int(sys.argv[1]))
