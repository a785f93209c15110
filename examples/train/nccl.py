"""The few NCCL functions a data-parallel step needs, and how the ranks of one job find each other.

Rank 0 makes the unique id and leaves it, as hex, in a file whose path every rank knows.
"""
import ctypes
import os
import time
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint64, c_void_p

from binding import ApiError, Library

_ID_BYTES = 128
_ID_WAIT_S = 60
_FLOAT32 = 7
SUM, MAX = 0, 2


class UniqueId(ctypes.Structure):
    """128 opaque bytes, passed by value."""
    _fields_ = [("internal", ctypes.c_ubyte * _ID_BYTES)]


_FUNCTIONS = {
    "ncclGetUniqueId": [POINTER(UniqueId)],
    "ncclCommInitRank": [POINTER(c_void_p), c_int, UniqueId, c_int],
    "ncclCommDestroy": [c_void_p],
    "ncclAllReduce": [c_uint64, c_uint64, c_size_t, c_int, c_int, c_void_p, c_void_p],
    "ncclBroadcast": [c_uint64, c_uint64, c_size_t, c_int, c_int, c_void_p, c_void_p],
}


class Nccl(Library):
    def __init__(self):
        super().__init__("libnccl.so.2", _FUNCTIONS)
        self.handle.ncclGetErrorString.restype = c_char_p

    def describe(self, code):
        return f"{code} ({self.handle.ncclGetErrorString(code).decode()})"


class Communicator:
    """All ranks of the job. Every rank must make the same calls in the same order."""

    def __init__(self, rank, world_size, id_file):
        self._nccl, self._comm = Nccl(), c_void_p()
        unique_id = self._publish(id_file) if rank == 0 else _await_id(id_file)
        self._nccl.ncclCommInitRank(byref(self._comm), world_size, unique_id, rank)
        if rank == 0 and id_file:
            os.unlink(id_file)  # everybody has joined, so everybody has read it

    def _publish(self, id_file):
        unique_id = UniqueId()
        self._nccl.ncclGetUniqueId(byref(unique_id))
        if id_file:
            with open(id_file + ".new", "w") as file:
                file.write(bytes(unique_id).hex())
            os.rename(id_file + ".new", id_file)  # readers see all of it or nothing
        return unique_id

    def all_reduce(self, pointer, count, stream, operation=SUM, into=None):
        target = pointer if into is None else into
        self._nccl.ncclAllReduce(pointer, target, count, _FLOAT32, operation, self._comm, stream)

    def broadcast(self, pointer, count, stream):
        self._nccl.ncclBroadcast(pointer, pointer, count, _FLOAT32, 0, self._comm, stream)

    def close(self):
        self._nccl.ncclCommDestroy(self._comm)


def _await_id(id_file):
    give_up = time.monotonic() + _ID_WAIT_S
    while not os.path.exists(id_file):
        if time.monotonic() > give_up:
            raise ApiError(f"rank 0 left no NCCL id in {id_file} within {_ID_WAIT_S} s")
        time.sleep(0.002)
    with open(id_file) as file:
        return UniqueId.from_buffer_copy(bytes.fromhex(file.read()))
