"""Calls the driver, and between calls does one thing for long: `lock` (waits for the interpreter's lock,
which another thread keeps), `garbage` (has the interpreter collect), `neither` (sleeps), `inner` (sleeps in a
sub-interpreter)."""
import ctypes
import gc
import importlib
import sys
import threading
import time

TIMES = 12
CUDA = ctypes.CDLL("libcuda.so.1")
INNER = "import gc, time\ngc.disable()\ndef inner():\n    time.sleep(0.05)\ninner()\n"


def must(result):
    if result:
        sys.exit(f"error {result}")


def keeps(kept, over):
    while not over.is_set():
        sum(range(5_000_000))  # one call: the lock is given away only between two
        kept.append(1)


def waits_for_lock():
    time.sleep(0.001)  # gives the lock away, and wants it back


def collects(_kept=[[[i] for i in range(500_000)]]):
    gc.collect()


def sleeps():
    time.sleep(0.05)


def interpreters():
    # Its name until 3.12, and from 3.13 on.
    return importlib.import_module("_xxsubinterpreters" if sys.version_info < (3, 13) else "_interpreters")


def runs_inner():
    if not hasattr(runs_inner, "id"):
        runs_inner.id = interpreters().create()
    interpreters().run_string(runs_inner.id, INNER)


WHAT = {"lock": waits_for_lock, "garbage": collects, "neither": sleeps, "inner": runs_inner}


def main(what):
    gc.disable()  # what is collected of its own accord is none of these
    if what == "inner":
        runs_inner()  # it is made before anything is sampled
    context, device = ctypes.c_void_p(), ctypes.c_int()
    must(CUDA.cuInit(0))
    must(CUDA.cuDeviceGet(ctypes.byref(device), 0))
    must(CUDA.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    must(CUDA.cuCtxSetCurrent(context))
    kept, over = [], threading.Event()
    thread = threading.Thread(target=keeps, args=(kept, over))
    if what == "lock":
        thread.start()
    memory = ctypes.c_uint64()
    must(CUDA.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4096)))
    times = 0
    # Where the other thread gets no processor, nobody keeps the lock meanwhile.
    while times < TIMES or what == "lock" and len(kept) < TIMES:
        times += 1
        must(CUDA.cuMemsetD8Async(memory, ctypes.c_ubyte(1), ctypes.c_size_t(4096), None))
        must(CUDA.cuCtxSynchronize())
        WHAT[what]()
    must(CUDA.cuCtxSynchronize())
    over.set()
    if what == "inner":
        interpreters().destroy(runs_inner.id)  # 3.14 warns of those that are left
    print("over")


main(sys.argv[1])
