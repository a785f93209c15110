"""One trace beside the box's truth of the same process: how far the recorded times are from the real ones."""
import pathlib
import sqlite3
from typing import NamedTuple, Optional

# What the truth file calls the operations that keep a device busy.
OPERATIONS = frozenset(("kernel", "h2d", "d2h", "d2d", "p2p", "h2h", "memset"))
TABLES = ("launch", "copy", "memset", "graph_launch")
TOLERANCE_NS = 2_000  # what a queued operation's stamps may be off


class Ran(NamedTuple):
    """What one call of the program made the device do: from its first operation to its last."""

    start_ns: int
    end_ns: int


class Recorded(NamedTuple):
    """The same in the trace; times are None where only the host's are known."""

    device: int
    enter_ns: int
    kind: str
    start_ns: Optional[int]
    end_ns: Optional[int]
    queued: Optional[int]
    bounds: tuple  # start_low, start_high, end_low, end_high: absolute
    likely_ns: Optional[int]


def read_truth(path):
    """{(device, call_enter_ns): Ran} and [(start, end, device)] of single operations."""
    calls, operations = {}, []
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        op, device, _, start, end, _, _, enter, _ = line.split("\t")
        if op not in OPERATIONS:
            continue
        start, end, device, enter = int(start), int(end), int(device), int(enter)
        operations.append((start, end, device))
        before = calls.get((device, enter))
        if before is not None:
            start, end = min(start, before.start_ns), max(end, before.end_ns)
        calls[device, enter] = Ran(start, end)
    return calls, operations


def operations_of(path):
    """[(start, end, device)], and when the last of their calls returned."""
    operations, returned = [], []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            op, device, _, start, end, _, _, _, left = line.split("\t")
            if op in OPERATIONS:
                operations.append((int(start), int(end), int(device)))
                returned.append(int(left))
    return operations, max(returned)


def read_trace(path):
    """Operations that ran: not captured, not failed, not unfinished."""
    base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        rows = []
        for table in TABLES:
            rows += base.execute(f"""
                SELECT c.device_id, o.enter_ns, '{table}', o.enter_ns + d.start_offset_ns,
                  o.enter_ns + d.start_offset_ns + d.dur_ns, e.queued,
                  e.start_low_ns, e.start_high_ns, e.end_low_ns, e.end_high_ns, e.likely_ns
                FROM {table} o LEFT JOIN stream s ON s.id = o.stream_id
                LEFT JOIN context c ON c.id = s.context_id
                LEFT JOIN {table}_device d USING (enter_ns)
                LEFT JOIN level_error e ON e.id = d.level_error_id
                WHERE o.flags & 7 = 0""")
    finally:
        base.close()
    operations = []
    for device, enter, kind, start, end, queued, start_low, start_high, end_low, end_high, likely in rows:
        bounds = ()
        if start is not None:
            bounds = start - start_low, start + start_high, end - end_low, end + end_high
        operations.append(Recorded(device, enter, kind, start, end, queued, bounds, likely))
    return operations


def left_out(path):
    """Operations without device times of which the trace says why: an event would have kept a programmatic
    launch from overlapping; CUPTI's records came to be of another tool's clock."""
    base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        count, = base.execute("SELECT coalesce(sum(value), 0) FROM meta WHERE key = 'untimed_programmatic'"
                              ).fetchone()
        since, = base.execute("SELECT min(mono_ns) FROM device_source WHERE displaced > 0 AND refused IS NOT"
                              " NULL").fetchone()
    finally:
        base.close()
    if since is not None:
        count += sum(row.start_ns is None for row in read_trace(path))
    return count


class Errors:
    """Of one or several processes together."""

    def __init__(self):
        self.processes = self.operations = self.timed = self.queued = self.unknown = 0
        self.left_out = 0            # without device times, and the trace says why
        self.worst_queued_ns = 0     # of starts and ends of queued operations
        self.outside = []            # operations whose bounds do not contain the truth
        self.unqueued = self.likely = 0  # of unqueued ones: how many, and how many within their stated error
        self.stated_ns = []          # those errors

    def add(self, trace, truth):
        """Of one process."""
        calls, _ = read_truth(truth)
        self.processes += 1
        self.left_out += left_out(trace)
        for row in read_trace(trace):
            # Of two calls at the same moment one stands 1 ns later in the trace.
            true = calls.get((row.device, row.enter_ns)) or calls.get((row.device, row.enter_ns - 1))
            if true is None:
                self.unknown += 1
                continue
            self.operations += 1
            if row.start_ns is not None:
                self._add(row, true)

    def _add(self, row, true):
        self.timed += 1
        start_low, start_high, end_low, end_high = row.bounds
        if not (start_low <= true.start_ns <= start_high and end_low <= true.end_ns <= end_high):
            self.outside.append((row, true))
        worst = max(abs(row.start_ns - true.start_ns), abs(row.end_ns - true.end_ns))
        if row.queued:
            self.queued += 1
            self.worst_queued_ns = max(self.worst_queued_ns, worst)
        else:
            self.unqueued += 1
            self.likely += worst <= row.likely_ns
            self.stated_ns.append(row.likely_ns)

    @property
    def timed_share(self):
        return self.timed / self.operations if self.operations else 0.0

    @property
    def queued_share(self):
        return self.queued / self.timed if self.timed else 0.0

    @property
    def likely_share(self):
        return self.likely / self.unqueued if self.unqueued else None


def union_ns(spans, begin_ns, end_ns):
    """Length of the union of (start, end, …) inside [begin, end)."""
    total, covered = 0, begin_ns
    for start, end, *_ in sorted(spans):
        start, end = max(start, covered), min(end, end_ns)
        if end > start:
            total += end - start
            covered = end
    return total
