"""Does what looks like a hang, or does not: waits.py WHAT SECONDS. Prints "over", and whether a child or its
end was seen here."""
import ctypes
import os
import signal
import sys
import threading
import time

CUDA = ctypes.CDLL("libcuda.so.1")
ONE = ctypes.c_uint(1)
CHILDREN = []


def must(result):
    if result:
        sys.exit(f"error {result}")


def begin():
    context, device, module = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_void_p()
    must(CUDA.cuInit(0))
    must(CUDA.cuDeviceGet(ctypes.byref(device), 0))
    must(CUDA.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    must(CUDA.cuCtxSetCurrent(context))
    must(CUDA.cuModuleLoadData(ctypes.byref(module), b"an image"))
    return context, module


def kernel(module, microseconds):
    function = ctypes.c_void_p()
    must(CUDA.cuModuleGetFunction(ctypes.byref(function), module, b"work__%dus" % microseconds))
    return function


def launch(function, stream=None):
    must(CUDA.cuLaunchKernel(function, ONE, ONE, ONE, ONE, ONE, ONE, 0, stream, None, None))


def device(seconds):
    """One kernel that takes so long; the host waits for it."""
    _, module = begin()
    launch(kernel(module, int(seconds * 1e6)))
    print("waits", flush=True)
    must(CUDA.cuCtxSynchronize())


def polls(seconds):
    """The same, asked again and again."""
    _, module = begin()
    stream = ctypes.c_void_p()
    must(CUDA.cuStreamCreate(ctypes.byref(stream), ctypes.c_uint(1)))
    launch(kernel(module, int(seconds * 1e6)), stream)
    while CUDA.cuStreamQuery(stream):
        time.sleep(0.05)


def computes(seconds):
    """Nothing is open: an evaluation on the host, a checkpoint."""
    _, module = begin()
    launch(kernel(module, 10))
    must(CUDA.cuCtxSynchronize())
    spin(seconds)


def beside(seconds):
    """One thread waits for long, another works."""
    context, module = begin()
    short, stream = kernel(module, 10), ctypes.c_void_p()
    must(CUDA.cuStreamCreate(ctypes.byref(stream), ctypes.c_uint(1)))

    def work():
        must(CUDA.cuCtxSetCurrent(context))
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            launch(short, stream)
            time.sleep(0.2)

    worker = threading.Thread(target=work)
    worker.start()
    launch(kernel(module, int(seconds * 1e6)))
    must(CUDA.cuCtxSynchronize())
    worker.join()


def trains(seconds):
    """Steps with the pauses of a real job: compilation, then a checkpoint, an evaluation, slow input."""
    _, module = begin()
    until = time.monotonic() + seconds
    long = seconds / 6
    pauses = [lambda: time.sleep(long), lambda: spin(long), lambda: time.sleep(0.1)]
    step = kernel(module, 2000)
    spin(long)
    for number in range(10**9):
        for _ in range(20):
            launch(step)
        must(CUDA.cuCtxSynchronize())
        if number % 20 == 19:
            pauses[number // 20 % len(pauses)]()
        if time.monotonic() > until:
            break


def spin(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def main():
    signal.signal(signal.SIGCHLD, lambda *_: CHILDREN.append("told"))
    known = {what.__name__: what for what in (device, polls, computes, beside, trains)}
    known[sys.argv[1]](float(sys.argv[2]))
    try:
        os.waitpid(-1, os.WNOHANG)
        CHILDREN.append("found")
    except ChildProcessError:
        pass
    print("over", *CHILDREN)


main()
