"""Ranks as processes of one program, and their collectives: NCCL's API."""
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from ctypes import byref, c_size_t, c_void_p

HALF, FLOAT, SUM = 6, 7, 0
DEADLINE_S = 60
nccl = ctypes.CDLL("libnccl.so.2")


class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * 128)]


def check(code):
    if code:
        sys.exit(f"NCCL: {code}")


def launch_ranks(ranks, knobs=None):
    """This program once for each rank, as launchers do it; the worst exit code.

    knobs: more variables of one.
    """
    with tempfile.TemporaryDirectory() as folder:
        jobs = []
        for rank in range(ranks):
            env = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks),
                   "ID_FILE": f"{folder}/id", **(knobs or {}).get(rank, {})}
            jobs.append(subprocess.Popen([sys.executable, *sys.argv], env=env))
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


def leave(comm):
    check(nccl.ncclCommDestroy(comm))


def all_to_all(gpu, comm, ranks, count, dtype=HALF):
    """As PyTorch makes it: messages to all and from all, also its own, in a group."""
    check(nccl.ncclGroupStart())
    for rank in range(ranks):
        check(nccl.ncclSend(gpu.memory, c_size_t(count), dtype, rank, comm, gpu.stream))
        check(nccl.ncclRecv(gpu.memory, c_size_t(count), dtype, rank, comm, gpu.stream))
    check(nccl.ncclGroupEnd())


def collective(name, gpu, comm, count, dtype=FLOAT, stream=None):
    send, count, stream = gpu.memory, c_size_t(count), stream or gpu.stream
    if name in ("AllReduce", "ReduceScatter"):
        check(getattr(nccl, "nccl" + name)(send, send, count, dtype, SUM, comm, stream))
    elif name == "AllGather":
        check(nccl.ncclAllGather(send, send, count, dtype, comm, stream))
    elif name == "Broadcast":
        check(nccl.ncclBroadcast(send, send, count, dtype, 0, comm, stream))
    else:
        sys.exit(f"no {name} here")
