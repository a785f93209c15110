"""One rank of a test of NCCL across processes: the libraries by ctypes, and what its scenarios share."""
import ctypes
import os
import time
from ctypes import POINTER, byref, c_int, c_size_t, c_uint, c_uint64, c_void_p

SUCCESS, INVALID_USAGE, REMOTE_ERROR, IN_PROGRESS = 0, 5, 6, 7
LAUNCH_FAILED = 719
INT32 = 2
SUM, MAX = 0, 2


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
        "ncclCommGetUniqueId": [_COMM, POINTER(UniqueId)],
        "ncclCommGrow": [_COMM, c_int, POINTER(UniqueId), c_int, POINTER(_COMM), c_void_p],
        "ncclCommSuspend": [_COMM, c_int],
        "ncclCommResume": [_COMM],
        "ncclPutSignal": [_BUFFER, c_size_t, c_int, c_int, c_void_p, c_size_t, c_int, c_int, c_uint, _COMM,
                          _STREAM],
        "ncclSignal": [c_int, c_int, c_int, c_uint, _COMM, _STREAM],
        "ncclWaitSignal": [c_int, c_void_p, _COMM, _STREAM],
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

# Since 2.31 each collective also comes with settings for one call.
_FUNCTIONS["libnccl.so.2"] |= {
    f"nccl{name}Config": [*_FUNCTIONS["libnccl.so.2"][f"nccl{name}"], c_void_p]
    for name in ("AllReduce", "Reduce", "ReduceScatter", "Broadcast", "AllGather", "AlltoAll", "Gather",
                 "Scatter")}


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

    def unique_id(self, name="id", grows=None):
        """Made by rank 0, left in a file for the others. `grows`: the communicator that new ranks come to."""
        path = self.folder / name
        if self.rank == 0:
            made = UniqueId()
            if grows:
                self.nccl.ncclCommGetUniqueId(grows, byref(made))
            else:
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
