"""Calls the driver, with known gaps between the calls. Arguments: how often, and what: `all`, `fork`, `exec`
or `end`."""
import ctypes
import os
import sys
import threading
import time

CUDA = ctypes.CDLL("libcuda.so.1")


def must(result):
    if result:
        sys.exit(f"error {result}")


def begin():
    context, device = ctypes.c_void_p(), ctypes.c_int()
    must(CUDA.cuInit(0))
    must(CUDA.cuDeviceGet(ctypes.byref(device), 0))
    must(CUDA.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    must(CUDA.cuCtxSetCurrent(context))
    return context


def call():
    must(CUDA.cuCtxSynchronize())


def waits():
    time.sleep(0.03)


def batches():
    while True:
        waits()
        yield 1


class Größe:
    def __init__(self):
        self.batches = batches()

    def __next__(self):
        return next(self.batches)


def works():
    total = 0
    for i in range(400_000):
        total += i * i
    return total


def deep(depth):
    if depth == 0:
        return time.sleep(0.03)
    return deep(depth - 1)


def steps(times, context):
    must(CUDA.cuCtxSetCurrent(context))
    loader = Größe()
    for _ in range(times):
        next(loader)
        call()
        works()
        call()
        deep(150)
        call()


def main(times, what):
    # Before the first call: a driver is of no use in a child that was forked later.
    child = os.fork() if what == "fork" else None
    context = begin()
    steps(times, context)
    if what == "all":
        thread = threading.Thread(target=steps, args=(times, context))
        thread.start()
        thread.join()
    if child == 0:
        return
    if child:
        os.waitpid(child, 0)
    if what == "exec":
        os.execv(sys.executable, [sys.executable, __file__, str(times), "once"])
    print("over", times)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
    sys.exit(7 if sys.argv[2] == "end" else 0)
