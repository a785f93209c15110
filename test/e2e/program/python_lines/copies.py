"""Copies batches to a device; most of the time it logs, or its loader waits."""
import ctypes
import sys
import time

CUDA = ctypes.CDLL("libcuda.so.1")
SIZE = 1 << 20


def must(result):
    if result:
        raise SystemExit(f"error {result}")


def logs():
    time.sleep(0.04)  # logs


class Loader:
    def __next__(self):
        return time.sleep(0.04)  # loads


class StagedLoader:
    def __next__(self):
        return self.collate([self.decode_image() for _ in range(2)])

    def decode_image(self):
        time.sleep(0.03)

    def collate(self, images):
        time.sleep(0.03 if images else 0)


def main():
    context, device, memory = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_uint64()
    must(CUDA.cuInit(0))
    must(CUDA.cuDeviceGet(ctypes.byref(device), 0))
    must(CUDA.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    must(CUDA.cuCtxSetCurrent(context))
    must(CUDA.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(SIZE)))
    loader = StagedLoader() if "in-stages" in sys.argv else Loader()
    for _ in range(25):
        next(loader)
        must(CUDA.cuMemsetD8Async(memory, ctypes.c_ubyte(1), ctypes.c_size_t(SIZE), None))
        must(CUDA.cuCtxSynchronize())
        logs()
        must(CUDA.cuMemsetD8Async(memory, ctypes.c_ubyte(2), ctypes.c_size_t(SIZE), None))
        must(CUDA.cuCtxSynchronize())


main()
