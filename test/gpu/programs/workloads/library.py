"""A library of nvcc in this process, GPU_CHECK_WORK, so that a profiler here sees what it does."""
import ctypes
import os

from missing import Missing, torch_on


def prepared(device):
    if device != "cuda":
        raise Missing("cuBLAS and cuBLASLt need a GPU")
    torch_on(device)  # its profiler is what is asked, and its libraries are the ones that are loaded
    try:
        library = ctypes.CDLL(os.environ["GPU_CHECK_WORK"])
    except OSError as why:
        raise Missing(str(why)) from why

    def work():
        result = ctypes.c_double()
        status = library.libraries_work(ctypes.byref(result))
        if status != 0:
            raise Missing(f"cuBLAS or cuBLASLt: status {status}")
        return [result.value.hex()], {}

    return work
