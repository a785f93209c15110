"""A process and its child, each with a context of its own, until both are told to end: forks.py."""
import ctypes
import os
import signal
import sys
import time


def begin():
    cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    for failed in (cuda.cuInit(0), cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)):
        if failed:
            sys.exit(f"error {failed}")


def main():
    over = []
    signal.signal(signal.SIGTERM, lambda *_: over.append(True))
    child = os.fork()  # before CUDA is there, which no child can use then
    begin()
    while not over:
        time.sleep(0.05)
    if child != 0:
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)


main()
