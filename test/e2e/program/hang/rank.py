"""One of three ranks that reduce together, until rank 1 does something else: rank.py WHAT FOLDER."""
import os
import pathlib
import signal
import sys
import time
from ctypes import byref, c_void_p

from nccl_rank import Rank

TOGETHER = 40


def loops(_):
    while True:
        pass


def sleeps(_):
    while True:
        time.sleep(1)


def stops(_):
    os.kill(os.getpid(), signal.SIGSTOP)


def dies(_):
    os.kill(os.getpid(), signal.SIGKILL)


def leaves(_):
    sys.exit(0)


def elsewhere(rank):
    """In the other communicator, to which nobody else comes."""
    rank.all_reduce([1], rank.other)


def main():
    rank = Rank(pathlib.Path(sys.argv[2]))
    if sys.argv[1] == "absent" and rank.rank == 1:
        sleeps(rank)
    rank.join()
    rank.other = c_void_p()
    rank.nccl.ncclCommSplit(rank.comm, 0, rank.rank, byref(rank.other), None)
    for _ in range(TOGETHER):
        rank.all_reduce([rank.rank])
    if rank.rank == 1:
        {what.__name__: what for what in (loops, sleeps, stops, dies, leaves, elsewhere)}[sys.argv[1]](rank)
    rank.all_reduce([rank.rank])


main()
