"""What NCCL says where no GPU is. The argument is the library."""
import ctypes
import sys

import asked

FLOAT, SUM = 7, 0


class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]


nccl = asked.Library(sys.argv[1])
nccl.number("ncclGetVersion")
unique, communicator = UniqueId(), ctypes.c_void_p()
nccl.ask("ncclGetUniqueId", ctypes.byref(unique))
for error in range(-1, 12):
    nccl.text("ncclGetErrorString", error)
nccl.ask("ncclCommInitAll", ctypes.byref(communicator), 1, None)
nccl.ask("ncclCommInitRank", ctypes.byref(communicator), 1, unique, 0)
nccl.ask("ncclCommInitRank", None, 1, unique, 0)
nccl.text("ncclGetLastError", None)
nccl.ask("ncclAllReduce", None, None, ctypes.c_size_t(1), FLOAT, SUM, None, None)
nccl.ask("ncclSend", None, ctypes.c_size_t(1), FLOAT, 0, None, None)
nccl.ask("ncclGroupStart")
nccl.ask("ncclAllReduce", None, None, ctypes.c_size_t(1), FLOAT, SUM, None, None)
nccl.ask("ncclGroupEnd")
nccl.ask("ncclGroupEnd")
nccl.ask("ncclMemAlloc", ctypes.byref(communicator), ctypes.c_size_t(1 << 20))
nccl.number("ncclCommCount", None)
nccl.ask("ncclCommDestroy", None)
nccl.ask("ncclCommAbort", None)
