"""One of three ranks that reduce together and mark their steps, until rank 1 does something else:
rank.py WHAT FOLDER."""
import os
import pathlib
import signal
import sys
import time
from ctypes import CDLL, byref, c_void_p

from nccl_rank import INT32, Rank

TOGETHER = 40


def loops(_):
    while True:
        pass


def sleeps(_):
    while True:
        time.sleep(1)


def naps(_):
    """Until the file is there."""
    while not pathlib.Path(sys.argv[2], "go").exists():
        time.sleep(0.1)


def stops(_):
    os.kill(os.getpid(), signal.SIGSTOP)


def dies(_):
    os.kill(os.getpid(), signal.SIGKILL)


def leaves(_):
    sys.exit(0)


def elsewhere(rank):
    """In the other communicator, to which nobody else comes."""
    rank.all_reduce([1], rank.other)


def smaller(rank):
    """Reduces two numbers where the others reduce one."""
    rank.all_reduce([1, 2])


def roots(rank):
    """Broadcasts where the others reduce."""
    buffer = rank.put([1])
    rank.nccl.ncclBroadcast(buffer, buffer, 1, INT32, 1, rank.comm, rank.stream)
    rank.synchronize()


def main():
    rank = Rank(pathlib.Path(sys.argv[2]))
    early = {"absent": sleeps, "stops": stops}
    if rank.rank == 1 and sys.argv[1] in early:
        early[sys.argv[1]](rank)
    rank.join()
    rank.other = c_void_p()
    rank.nccl.ncclCommSplit(rank.comm, 0, rank.rank, byref(rank.other), None)
    mark = CDLL(None).gpushim_step
    for _ in range(TOGETHER):
        mark()
        rank.all_reduce([rank.rank])
    if rank.rank == 1:
        ways = (loops, sleeps, naps, dies, leaves, elsewhere, smaller, roots)
        {what.__name__: what for what in ways}[sys.argv[1]](rank)
    rank.all_reduce([rank.rank])
    if sys.argv[1] == "naps":
        sleeps(rank)


main()
