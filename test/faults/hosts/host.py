"""A Python program with a pool of workers: host.py START_METHOD WAY [NUMBER]. Forked workers do what workers of a
data loader do, without the GPU; spawned ones use it themselves. It prints what it has done."""
import ctypes
import multiprocessing
import os
import sys


class Gpu:
    """A context on the first device, and memory to copy to."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.context, self.memory = ctypes.c_void_p(), ctypes.c_uint64()
        self.must("cuInit", 0)
        self.must("cuCtxCreate_v4", ctypes.byref(self.context), None, 0, 0)
        self.must("cuMemAlloc_v2", ctypes.byref(self.memory), ctypes.c_size_t(4096))

    def must(self, name, *arguments):
        error = getattr(self.cuda, name)(*arguments)
        if error:
            raise RuntimeError(f"{name}: {error}")

    def copy(self, times):
        source = ctypes.create_string_buffer(64)
        for _ in range(times):
            self.must("cuMemcpyHtoD_v2", self.memory, source, ctypes.c_size_t(64))


def square(number):
    return number * number


def copy_and_square(number):
    Gpu().copy(number)
    return number * number


def job(context):
    """What a worker is given."""
    return square if context.get_start_method() == "fork" else copy_and_square


def children(context, number):
    """Workers that come and go while this process copies."""
    gpu = Gpu()
    for first in range(0, number, 2):
        with context.Pool(2) as pool:
            work = pool.map_async(job(context), [first, first + 1])
            gpu.copy(50)
            print(work.get(60))


def main():
    method, way = sys.argv[1:3]
    number = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    WAYS[way](multiprocessing.get_context(method), number)


WAYS = {way.__name__: way for way in (children,)}

if __name__ == "__main__":
    main()
