"""Trains a little, and says so: ranges through a library of C, as frameworks for Python have one."""
import ctypes
import sys

nvtx, cuda = ctypes.CDLL(sys.argv[1]), ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v4(ctypes.byref(context), None, 0, 0) == 0
for step in range(5):
    assert nvtx.range_push(f"ProfilerStep#{step}".encode()) == 0
    for name in ("forward", "backward"):
        assert nvtx.range_push(f"{name}, seq = {step}".encode()) == 1
        assert cuda.cuCtxSynchronize() == 0
        assert nvtx.range_pop() == 1
    nvtx.mark(b"loss")
    assert nvtx.range_pop() == 0
