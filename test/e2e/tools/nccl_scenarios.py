"""What the ranks of a test do: python3 nccl_scenarios.py SCENARIO FOLDER, with RANK and WORLD_SIZE set.

A scenario is a function of this file. It gets a Rank, and what it returns is printed as one line of JSON.
"""
import json
import os
import pathlib
import signal
import sys
import time
from ctypes import byref, c_int, c_void_p

from nccl_rank import INT32, IN_PROGRESS, MAX, SUCCESS, SUM, Config, Library, Rank, UniqueId

_CAPTURE_RELAXED = 2


def collectives(rank, form="", *settings):
    """Each collective once, out of place; what this rank has received."""
    rank.join()
    n, me = rank.world_size, rank.rank
    comm, last = rank.comm, (rank.stream, *settings)
    send = rank.put([me * 100 + i for i in range(2 * n)])
    got = {}

    def receive(name, call, count, *words):
        buffer = rank.put([-1] * count)
        getattr(rank.nccl, f"nccl{call}{form}")(send, buffer, 2, INT32, *words, comm, *last)
        rank.synchronize()
        got[name] = rank.get(buffer, count)

    receive("all_reduce", "AllReduce", 2, SUM)
    receive("max", "AllReduce", 2, MAX)
    receive("reduce", "Reduce", 2, SUM, n - 1)
    receive("reduce_scatter", "ReduceScatter", 2, SUM)
    receive("broadcast", "Broadcast", 2, 1)
    receive("all_gather", "AllGather", 2 * n)
    receive("all_to_all", "AlltoAll", 2 * n)
    receive("gather", "Gather", 2 * n, 0)
    receive("scatter", "Scatter", 2, 0)
    rank.close()
    return got


def with_settings(rank):
    """The same by the forms that take settings for one call; there are none."""
    return collectives(rank, "Config", None)


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


def grow(rank):
    """Two ranks, and a third that comes to them. All stop and go on, and signal on another stream: each to
    another rank, so that no argument is like its neighbour."""
    grown, signals = c_void_p(), rank.new_stream()
    if rank.rank < 2:
        rank.nccl.ncclCommInitRank(byref(rank.comm), 2, rank.unique_id(), rank.rank)
    new = rank.unique_id("grown", rank.comm) if rank.rank != 1 else None
    if rank.rank < 2:
        rank.nccl.ncclCommGrow(rank.comm, 3, byref(new) if new else None, -1, byref(grown), None)
    else:
        rank.nccl.ncclCommGrow(None, 3, byref(new), 2, byref(grown), None)
    result = rank.rank_and_size(grown) + rank.all_reduce([1 << rank.rank], grown)
    rank.nccl.ncclCommSuspend(grown, 1)
    rank.nccl.ncclCommResume(grown)
    rank.nccl.ncclPutSignal(rank.put([3, 4]), 2, INT32, 1, None, 64, 5, 6, 7, grown, signals)
    rank.nccl.ncclSignal(2, 5, 6, 7, grown, signals)
    rank.nccl.ncclWaitSignal(1, (c_int * 16)(), grown, signals)
    rank.nccl.ncclCommDestroy(grown)
    return result


def non_blocking(rank):
    """The call returns before the others have come; the state tells when all are there. Rank 1 does not come
    before rank 0 has been told that it is alone."""
    unique_id = rank.unique_id()
    if rank.rank == 1:
        rank.barrier("asked")
    config = Config.non_blocking()
    first = rank.nccl.raw.ncclCommInitRankConfig(byref(rank.comm), rank.world_size, unique_id, rank.rank,
                                                 byref(config))
    alone = rank.async_error() if rank.rank == 0 else None
    if rank.rank == 0:
        rank.barrier("asked")
    while rank.async_error() == IN_PROGRESS:
        time.sleep(0.002)
    total = rank.all_reduce([rank.rank + 1])
    finalized = rank.nccl.raw.ncclCommFinalize(rank.comm)
    while rank.async_error() == IN_PROGRESS:
        time.sleep(0.002)
    rank.close()
    return {"first": first, "alone": alone, "total": total, "finalized": finalized}


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
        Library("libgpusim.so").raw.gpusim_advance_ns(5_000_000)
    total = rank.all_reduce([1] * 1000)
    rank.close()
    return total[0]


def late_to_join(rank):
    """Rank 1 works 5 ms before it joins."""
    if rank.rank == 1:
        Library("libgpusim.so").raw.gpusim_advance_ns(5_000_000)
    return one_all_reduce(rank)


def steps(rank):
    """A little training: two streams of one communicator, and host work that differs from rank to rank."""
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
    rank.barrier("here")  # the time-out is not for processes to start
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
    rank.barrier("here")
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
    rank.barrier("here")
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
