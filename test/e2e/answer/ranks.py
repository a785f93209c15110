"""Ranks that compute and then do a collective, in stepped time, GPU r for rank r.

    ranks.py RANKS STEPS OPERATION FLOATS [KERNEL_US]

In each step ten kernels (1000 us each, or KERNEL_US), then the collective on the same stream, then a wait.
"""
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from ctypes import byref, c_size_t, c_void_p

from workloads import Gpu, call, mark

FLOAT, SUM = 7, 0
DEADLINE_S = 60
nccl = ctypes.CDLL("libnccl.so.2")


class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * 128)]


def check(code):
    if code:
        sys.exit(f"NCCL: {code}")


def launcher(ranks, program=__file__, knobs=None):
    """The program once for each rank; knobs: further variables of one."""
    with tempfile.TemporaryDirectory() as folder:
        jobs = []
        for rank in range(ranks):
            env = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks),
                   "ID_FILE": f"{folder}/id", **(knobs or {}).get(rank, {})}
            jobs.append(subprocess.Popen([sys.executable, program, *sys.argv[1:]], env=env))
        return max(job.wait() for job in jobs)


def join(rank, ranks):
    path, unique = os.environ["ID_FILE"], UniqueId()
    if rank == 0:
        check(nccl.ncclGetUniqueId(byref(unique)))
        with open(path + ".new", "wb") as file:
            file.write(bytes(unique))
        os.rename(path + ".new", path)
    deadline = time.monotonic() + DEADLINE_S
    while not os.path.exists(path):
        if time.monotonic() > deadline:
            sys.exit("rank 0 left no id")
        time.sleep(0.002)
    with open(path, "rb") as file:
        unique = UniqueId.from_buffer_copy(file.read())
    comm = c_void_p()
    check(nccl.ncclCommInitRank(byref(comm), ranks, unique, rank))
    return comm


def collective(name, gpu, comm, floats):
    send, count = gpu.memory, c_size_t(floats)
    if name in ("AllReduce", "ReduceScatter"):
        check(getattr(nccl, "nccl" + name)(send, send, count, FLOAT, SUM, comm, gpu.stream))
    elif name == "AllGather":
        check(nccl.ncclAllGather(send, send, count, FLOAT, comm, gpu.stream))
    elif name == "Broadcast":
        check(nccl.ncclBroadcast(send, send, count, FLOAT, 0, comm, gpu.stream))
    else:
        sys.exit(f"no {name} here")


def main():
    ranks, steps, name, floats = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    kernel_us = int(sys.argv[5]) if len(sys.argv) > 5 else 1000
    if "RANK" not in os.environ:
        return launcher(ranks)
    rank = int(os.environ["RANK"])
    call("cuInit", 0)
    gpu = Gpu(rank)
    comm = join(rank, ranks)
    for _ in range(steps):
        if mark:
            mark()
        for layer in range(10):
            gpu.launch(f"layer_{layer}__{kernel_us}us")
        collective(name, gpu, comm, floats)
        gpu.wait()
    if mark:
        mark()
    call("cuCtxSynchronize")
    check(nccl.ncclCommDestroy(comm))
    return 0


if __name__ == "__main__":
    sys.exit(main())
