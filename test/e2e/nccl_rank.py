"""One rank of a test of NCCL across processes: python3 nccl_rank.py SCENARIO FOLDER, with RANK and WORLD_SIZE set.

A scenario is a function of this file. It gets a Rank, and what it returns is printed as one line of JSON.
"""
import ctypes
import json
import os
import pathlib
import signal
import sys
import time
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p

SUCCESS, INVALID_USAGE, REMOTE_ERROR, IN_PROGRESS = 0, 5, 6, 7
LAUNCH_FAILED = 719
INT32 = 2
SUM, MAX = 0, 2
_CAPTURE_RELAXED = 2


class UniqueId(ctypes.Structure):
    """128 opaque bytes, passed by value."""

    _fields_ = [("internal", ctypes.c_ubyte * 128)]


class Config(ctypes.Structure):
    """ncclConfig_t up to `blocking`; the rest stays undefined."""

    _fields_ = [("size", c_size_t), ("magic", c_uint), ("version", c_uint), ("blocking", c_int)]

    @classmethod
    def non_blocking(cls):
        return cls(ctypes.sizeof(cls), 0xcafebeef, 22809, 0)


_COMM, _STREAM, _BUFFER = c_void_p, c_void_p, c_uint64
_FUNCTIONS = {
    "libcuda.so.1": {
        "cuInit": [c_uint],
        "cuDevicePrimaryCtxRetain": [POINTER(c_void_p), c_int],
        "cuCtxSetCurrent": [c_void_p],
        "cuStreamCreate": [POINTER(c_void_p), c_uint],
        "cuStreamSynchronize": [_STREAM],
        "cuStreamBeginCapture_v2": [_STREAM, c_int],
        "cuStreamEndCapture": [_STREAM, POINTER(c_void_p)],
        "cuGraphInstantiateWithFlags": [POINTER(c_void_p), c_void_p, c_uint64],
        "cuGraphLaunch": [c_void_p, _STREAM],
        "cuMemAlloc_v2": [POINTER(c_uint64), c_size_t],
        "cuMemcpyHtoD_v2": [_BUFFER, c_void_p, c_size_t],
        "cuMemcpyDtoH_v2": [c_void_p, _BUFFER, c_size_t],
    },
    "libnccl.so.2": {
        "ncclGetUniqueId": [POINTER(UniqueId)],
        "ncclCommInitRank": [POINTER(_COMM), c_int, UniqueId, c_int],
        "ncclCommInitRankConfig": [POINTER(_COMM), c_int, UniqueId, c_int, POINTER(Config)],
        "ncclCommInitRankScalable": [POINTER(_COMM), c_int, c_int, c_int, POINTER(UniqueId), POINTER(Config)],
        "ncclCommSplit": [_COMM, c_int, c_int, POINTER(_COMM), c_void_p],
        "ncclCommShrink": [_COMM, POINTER(c_int), c_int, POINTER(_COMM), c_void_p, c_int],
        "ncclCommGetAsyncError": [_COMM, POINTER(c_int)],
        "ncclCommFinalize": [_COMM],
        "ncclCommDestroy": [_COMM],
        "ncclCommAbort": [_COMM],
        "ncclCommCount": [_COMM, POINTER(c_int)],
        "ncclCommUserRank": [_COMM, POINTER(c_int)],
        "ncclAllReduce": [_BUFFER, _BUFFER, c_size_t, c_int, c_int, _COMM, _STREAM],
        "ncclReduce": [_BUFFER, _BUFFER, c_size_t, c_int, c_int, c_int, _COMM, _STREAM],
        "ncclReduceScatter": [_BUFFER, _BUFFER, c_size_t, c_int, c_int, _COMM, _STREAM],
        "ncclBroadcast": [_BUFFER, _BUFFER, c_size_t, c_int, c_int, _COMM, _STREAM],
        "ncclAllGather": [_BUFFER, _BUFFER, c_size_t, c_int, _COMM, _STREAM],
        "ncclAlltoAll": [_BUFFER, _BUFFER, c_size_t, c_int, _COMM, _STREAM],
        "ncclGather": [_BUFFER, _BUFFER, c_size_t, c_int, c_int, _COMM, _STREAM],
        "ncclScatter": [_BUFFER, _BUFFER, c_size_t, c_int, c_int, _COMM, _STREAM],
        "ncclSend": [_BUFFER, c_size_t, c_int, c_int, _COMM, _STREAM],
        "ncclRecv": [_BUFFER, c_size_t, c_int, c_int, _COMM, _STREAM],
        "ncclGroupStart": [],
        "ncclGroupEnd": [],
    },
    "libgpusim.so": {"gpusim_advance_ns": [c_uint64]},
}


class Library:
    """Calls by name; one that fails raises, unless it is called through `raw`."""

    def __init__(self, name):
        self.raw = ctypes.CDLL(name)
        for function, types in _FUNCTIONS[name].items():
            getattr(self.raw, function).argtypes = types

    def __getattr__(self, name):
        function = getattr(self.raw, name)

        def checked(*arguments):
            result = function(*arguments)
            if result != 0:
                raise RuntimeError(f"{name} returned {result}")

        return checked


class Rank:
    """This process's device, one stream, and (unless told otherwise) a communicator of all ranks."""

    def __init__(self, folder, device=None):
        self.folder = folder
        self.rank, self.world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.cuda, self.nccl = Library("libcuda.so.1"), Library("libnccl.so.2")
        context = c_void_p()
        self.cuda.cuInit(0)
        self.cuda.cuDevicePrimaryCtxRetain(byref(context), self.rank if device is None else device)
        self.cuda.cuCtxSetCurrent(context)
        self.stream, self.comm = self.new_stream(), c_void_p()

    def new_stream(self):
        stream = c_void_p()
        self.cuda.cuStreamCreate(byref(stream), 1)
        return stream

    def unique_id(self, name="id"):
        """Made by rank 0, left in a file for the others."""
        path = self.folder / name
        if self.rank == 0:
            made = UniqueId()
            self.nccl.ncclGetUniqueId(byref(made))
            path.with_suffix(".new").write_bytes(bytes(made))
            path.with_suffix(".new").rename(path)
            return made
        while not path.exists():
            time.sleep(0.002)
        return UniqueId.from_buffer_copy(path.read_bytes())

    def join(self):
        self.nccl.ncclCommInitRank(byref(self.comm), self.world_size, self.unique_id(), self.rank)
        return self

    def barrier(self, name):
        """Among the processes, not through NCCL."""
        (self.folder / f"{name}.{self.rank}").touch()
        while len(list(self.folder.glob(f"{name}.*"))) < self.world_size:
            time.sleep(0.002)

    def put(self, values):
        address = c_uint64()
        self.cuda.cuMemAlloc_v2(byref(address), 4 * len(values))
        self.cuda.cuMemcpyHtoD_v2(address, (c_int * len(values))(*values), 4 * len(values))
        return address.value

    def get(self, address, count):
        values = (c_int * count)()
        self.cuda.cuMemcpyDtoH_v2(values, address, 4 * count)
        return list(values)

    def synchronize(self):
        self.cuda.cuStreamSynchronize(self.stream)

    def all_reduce(self, values, comm=None):
        buffer = self.put(values)
        comm = comm or self.comm
        self.nccl.ncclAllReduce(buffer, buffer, len(values), INT32, SUM, comm, self.stream)
        self.synchronize()
        return self.get(buffer, len(values))

    def async_error(self, comm=None):
        error = c_int()
        self.nccl.ncclCommGetAsyncError(comm or self.comm, byref(error))
        return error.value

    def rank_and_size(self, comm):
        rank, size = c_int(), c_int()
        self.nccl.ncclCommUserRank(comm, byref(rank))
        self.nccl.ncclCommCount(comm, byref(size))
        return [rank.value, size.value]

    def close(self):
        self.nccl.ncclCommDestroy(self.comm)


def collectives(rank):
    """Each collective once, out of place; what this rank has received."""
    rank.join()
    n, me = rank.world_size, rank.rank
    nccl, comm, stream = rank.nccl, rank.comm, rank.stream
    send = rank.put([me * 100 + i for i in range(2 * n)])
    got = {}

    def receive(name, call, count):
        buffer = rank.put([-1] * count)
        call(buffer)
        rank.synchronize()
        got[name] = rank.get(buffer, count)

    receive("all_reduce", lambda b: nccl.ncclAllReduce(send, b, 2, INT32, SUM, comm, stream), 2)
    receive("max", lambda b: nccl.ncclAllReduce(send, b, 2, INT32, MAX, comm, stream), 2)
    receive("reduce", lambda b: nccl.ncclReduce(send, b, 2, INT32, SUM, n - 1, comm, stream), 2)
    receive("reduce_scatter", lambda b: nccl.ncclReduceScatter(send, b, 2, INT32, SUM, comm, stream), 2)
    receive("broadcast", lambda b: nccl.ncclBroadcast(send, b, 2, INT32, 1, comm, stream), 2)
    receive("all_gather", lambda b: nccl.ncclAllGather(send, b, 2, INT32, comm, stream), 2 * n)
    receive("all_to_all", lambda b: nccl.ncclAlltoAll(send, b, 2, INT32, comm, stream), 2 * n)
    receive("gather", lambda b: nccl.ncclGather(send, b, 2, INT32, 0, comm, stream), 2 * n)
    receive("scatter", lambda b: nccl.ncclScatter(send, b, 2, INT32, 0, comm, stream), 2)
    rank.close()
    return got


def ring(rank):
    """Each rank sends to the next and receives from the one before; odd ranks ask in the other order."""
    rank.join()
    n, me = rank.world_size, rank.rank
    send, recv = rank.put([me, me * 10]), rank.put([-1, -1])
    calls = [lambda: rank.nccl.ncclSend(send, 2, INT32, (me + 1) % n, rank.comm, rank.stream),
             lambda: rank.nccl.ncclRecv(recv, 2, INT32, (me - 1) % n, rank.comm, rank.stream)]
    for _ in range(3):
        rank.nccl.ncclGroupStart()
        for call in (calls if me % 2 else reversed(calls)):
            call()
        rank.nccl.ncclGroupEnd()
    rank.synchronize()
    rank.close()
    return rank.get(recv, 2)


def split(rank):
    """Even and odd ranks part, in reversed order; the last rank of all is in neither."""
    rank.join()
    color = -1 if rank.rank == rank.world_size - 1 else rank.rank % 2
    part = c_void_p()
    rank.nccl.ncclCommSplit(rank.comm, color, -rank.rank, byref(part), None)
    result = None
    if part:
        result = rank.rank_and_size(part) + rank.all_reduce([1 << rank.rank], part)
        rank.nccl.ncclCommDestroy(part)
    rank.close()
    return result


def shrink(rank):
    """Rank 1 is left out, twice: the second time from what the first made."""
    rank.join()
    result, comm = [], rank.comm
    for _ in range(2):
        if rank.rank_and_size(comm)[0] == 1:
            break
        small = c_void_p()
        rank.nccl.ncclCommShrink(comm, (c_int * 1)(1), 1, byref(small), None, 0)
        result.append(rank.rank_and_size(small) + rank.all_reduce([1 << rank.rank], small))
        comm = small
    return result


def non_blocking(rank):
    """The call returns before the others have come; the state tells when all are there."""
    unique_id = rank.unique_id()
    if rank.rank == 1:
        time.sleep(0.3)
    config = Config.non_blocking()
    begun = time.monotonic()
    first = rank.nccl.raw.ncclCommInitRankConfig(byref(rank.comm), rank.world_size, unique_id, rank.rank,
                                                 byref(config))
    lasted = time.monotonic() - begun
    seen = set()
    while rank.async_error() == IN_PROGRESS:
        seen.add(IN_PROGRESS)
        time.sleep(0.002)
    total = rank.all_reduce([rank.rank + 1])
    finalized = rank.nccl.raw.ncclCommFinalize(rank.comm)
    while rank.async_error() == IN_PROGRESS:
        time.sleep(0.002)
    rank.close()
    return {"first": first, "lasted": lasted, "seen": sorted(seen), "total": total, "finalized": finalized}


def scalable(rank):
    """Two unique ids, the same on every rank."""
    ids = (UniqueId * 2)(rank.unique_id("a"), rank.unique_id("b"))
    rank.nccl.ncclCommInitRankScalable(byref(rank.comm), rank.world_size, rank.rank, 2, ids, None)
    total = rank.all_reduce([rank.rank + 1])
    rank.close()
    return total


def one_all_reduce(rank):
    rank.join()
    total = rank.all_reduce([rank.rank + 1, 7])
    rank.close()
    return total


def late(rank):
    """Rank 1 works 5 ms (of virtual time, where the clock is stepped) before it comes."""
    rank.join()
    if rank.rank == 1:
        ctypes.CDLL("libgpusim.so").gpusim_advance_ns(c_uint64(5_000_000))
    total = rank.all_reduce([1] * 1000)
    rank.close()
    return total[0]


def steps(rank):
    """A little training: two streams of one communicator, kernels' worth of host work of its own on each rank."""
    rank.join()
    other = rank.new_stream()
    advance = Library("libgpusim.so").raw.gpusim_advance_ns
    buffers = [rank.put([1] * 5000) for _ in range(2)]
    for step in range(10):
        advance(100_000 + 37_000 * rank.rank * (step % 3))
        for buffer, stream in zip(buffers, (rank.stream, other)):
            rank.nccl.ncclAllReduce(buffer, buffer, 5000, INT32, SUM, rank.comm, stream)
        rank.synchronize()
    rank.cuda.cuStreamSynchronize(other)
    rank.close()
    return [rank.get(buffer, 1)[0] for buffer in buffers]


def order(rank):
    """100 operations, each on the result of the one before; a lost or swapped one changes the end."""
    rank.join()
    buffer = rank.put([1])
    for i in range(100):
        if i % 2:
            rank.nccl.ncclAllReduce(buffer, buffer, 1, INT32, SUM, rank.comm, rank.stream)
        else:
            rank.nccl.ncclBroadcast(buffer, buffer, 1, INT32, i % rank.world_size, rank.comm, rank.stream)
    rank.synchronize()
    rank.close()
    return rank.get(buffer, 1)


def graph(rank):
    """AllReduce is captured, nothing happens, and each of three launches does it once."""
    rank.join()
    buffer, captured, executable = rank.put([1]), c_void_p(), c_void_p()
    rank.cuda.cuStreamBeginCapture_v2(rank.stream, _CAPTURE_RELAXED)
    rank.nccl.ncclAllReduce(buffer, buffer, 1, INT32, SUM, rank.comm, rank.stream)
    rank.cuda.cuStreamEndCapture(rank.stream, byref(captured))
    rank.cuda.cuGraphInstantiateWithFlags(byref(executable), captured, 0)
    values = rank.get(buffer, 1)
    for _ in range(3):
        rank.cuda.cuGraphLaunch(executable, rank.stream)
        rank.synchronize()
        values += rank.get(buffer, 1)
    rank.close()
    return values


def killed(rank):
    """The last rank is killed; the others have an operation under way that it never joins."""
    rank.join()
    rank.all_reduce([1])
    if rank.rank == rank.world_size - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    buffer = rank.put([1])
    begun = time.monotonic()
    rank.nccl.ncclAllReduce(buffer, buffer, 1, INT32, SUM, rank.comm, rank.stream)
    result = rank.cuda.raw.cuStreamSynchronize(rank.stream)
    lasted = time.monotonic() - begun
    return {"result": result, "lasted": lasted, "async": rank.async_error(),
            "next": rank.nccl.raw.ncclAllReduce(buffer, buffer, 1, INT32, SUM, rank.comm, rank.stream)}


def killed_and_shrunk(rank):
    """As `killed`, but the others go on without the lost rank as soon as the communicator says so."""
    rank.join()
    rank.all_reduce([1])
    lost = rank.world_size - 1
    if rank.rank == lost:
        os.kill(os.getpid(), signal.SIGKILL)
    buffer, small = rank.put([1]), c_void_p()
    rank.nccl.ncclAllReduce(buffer, buffer, 1, INT32, SUM, rank.comm, rank.stream)
    while rank.async_error() == SUCCESS:
        time.sleep(0.002)
    error = rank.async_error()
    rank.nccl.ncclCommShrink(rank.comm, (c_int * 1)(lost), 1, byref(small), None, 1)
    rank.synchronize()
    return {"async": error, "total": rank.all_reduce([rank.rank + 1], small)}


def never_comes(rank):
    """Rank 1 stays alive and away: from an operation, or (with nobody in) from the communicator."""
    unique_id = rank.unique_id()
    if rank.rank == 1:
        rank.barrier("done")
        return None
    begun = time.monotonic()
    result = rank.nccl.raw.ncclCommInitRank(byref(rank.comm), rank.world_size, unique_id, rank.rank)
    lasted = time.monotonic() - begun
    rank.barrier("done")
    return {"result": result, "lasted": lasted, "comm": bool(rank.comm)}


def operation_never_comes(rank):
    rank.join()
    if rank.rank == 1:
        rank.barrier("done")
        return None
    buffer = rank.put([1])
    begun = time.monotonic()
    rank.nccl.ncclAllReduce(buffer, buffer, 1, INT32, SUM, rank.comm, rank.stream)
    result = rank.cuda.raw.cuStreamSynchronize(rank.stream)
    lasted = time.monotonic() - begun
    rank.barrier("done")
    return {"result": result, "lasted": lasted, "async": rank.async_error()}


def disagree(rank):
    """The ranks ask for different numbers of values."""
    rank.join()
    buffer = rank.put([1] * 4)
    rank.nccl.ncclAllReduce(buffer, buffer, 2 + rank.rank, INT32, SUM, rank.comm, rank.stream)
    return {"result": rank.cuda.raw.cuStreamSynchronize(rank.stream), "async": rank.async_error()}


def same_device(rank):
    """Two ranks on one device."""
    return rank.nccl.raw.ncclCommInitRank(byref(rank.comm), rank.world_size, rank.unique_id(), rank.rank)


def main():
    scenario, folder = globals()[sys.argv[1]], pathlib.Path(sys.argv[2])
    rank = Rank(folder, device=0 if scenario is same_device else None)
    print(json.dumps(scenario(rank)))


if __name__ == "__main__":
    main()
