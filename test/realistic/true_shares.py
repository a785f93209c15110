"""What a job's GPUs did without the shim, by the box's truth: the five parts of each step, and its length.

    marks      |  1  |  2  |  3  |       the end of a step: after the next batch is on its way
    step          0     1                between two of them
"""
import pathlib
from typing import Dict, NamedTuple

import box

PARTS = ("productive", "waiting_for_peer", "exposed_comm", "memory", "idle")
COPIES = frozenset(("h2d", "d2h", "d2d", "p2p", "memset"))
EVENT_NS = 1_500  # what the call takes by which the program ends a step
LOSS_BYTES = 4  # the last step ends with reading it
BEGINS_NS = 1_000_000_000  # the stepped clock


class Rank(NamedTuple):
    compute: list
    comm: list     # (start, end) of collectives, in the order of their calls
    memory: list
    marks: list    # host times
    ends_ns: int   # of all


def union(spans, begin_ns, end_ns):
    """Length of the union of (start, end) inside [begin, end)."""
    total, covered = 0, begin_ns
    for start, end in spans:
        start, end = max(start, covered), min(end, end_ns)
        if end > start:
            total += end - start
            covered = end
    return total


def _read(path, batch_bytes):
    compute, comm, memory, marks, ends_ns, loss_ns = [], [], [], [], 0, 0
    is_next = False  # the samples of a batch come back
    rows = sorted(box.read_truth(path), key=lambda row: row.call_enter_ns)
    for row in rows:
        span = (row.start_ns, row.end_ns)
        if row.op == "kernel":
            (comm if row.name.startswith("nccl") else compute).append(span)
        elif row.op in COPIES:
            memory.append(span)
        ends_ns = max(ends_ns, row.call_exit_ns, row.end_ns)
        if row.op == "h2d" and row.bytes == batch_bytes:
            is_next = True
        elif row.op == "d2h" and is_next:
            is_next = False
            marks.append(row.call_exit_ns + EVENT_NS)
        elif row.op == "d2h" and row.bytes == LOSS_BYTES:
            loss_ns = row.end_ns
    return Rank(sorted(compute), comm, sorted(memory), [*marks[1:], loss_ns], ends_ns)


class Truth:
    """Of a folder with a file for each rank."""

    def __init__(self, folder, ranks, input_mb=4):
        self.ranks: Dict[int, Rank] = {rank: _read(pathlib.Path(folder, str(rank)), int(input_mb * 1e6))
                                       for rank in range(ranks)}
        calls = zip(*(one.comm for one in self.ranks.values()))
        last_ns = [max(start for start, _ in call) for call in calls]
        self.waits = {rank: sorted((start, min(end, last)) for (start, end), last in zip(one.comm, last_ns))
                      for rank, one in self.ranks.items()}

    def step_ns(self, first, last):
        """The mean of these steps, of the job."""
        marks = self.ranks[0].marks
        return (marks[last + 1] - marks[first]) / (last + 1 - first)

    def knows(self, step):
        return all(0 <= step < len(one.marks) - 1 for one in self.ranks.values())

    def shares(self, rank, steps):
        """{part: share} of these steps: each moment is in the first part that it can be in."""
        one, waits = self.ranks[rank], self.waits[rank]
        lots = [one.compute]
        for more in (waits, one.comm, one.memory):
            lots.append(sorted([*lots[-1], *more]))
        sums, whole = [0, 0, 0, 0], 0
        for step in steps:
            begin, end = one.marks[step], one.marks[step + 1]
            whole += end - begin
            for i, spans in enumerate(lots):
                sums[i] += union(spans, begin, end)
        upto = [0, *sums, whole]
        return {part: (upto[i + 1] - upto[i]) / whole for i, part in enumerate(PARTS)}

    def run_ns(self, rank):
        return self.ranks[rank].ends_ns - BEGINS_NS

    def run_busy_share(self, rank):
        one = self.ranks[rank]
        spans = sorted([*one.compute, *one.comm, *one.memory])
        return union(spans, BEGINS_NS, one.ends_ns) / self.run_ns(rank)
