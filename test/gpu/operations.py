"""Operations of a run as somebody recorded them: by a trace of ours, by PyTorch's profiler (brought into a
trace by `gpushim import`), or by the box, which knows the truth. Times are ns of that one's host clock."""
import pathlib
import sqlite3
import subprocess
from typing import NamedTuple, Optional

from judging import OutOfTime, demand
from machine import BUILD
from traces import demand_places

COPIES = ("h2d", "d2h", "d2d", "p2p", "h2h")
IN_ORDER = "SELECT kind, name, device_id, stream_id, enter_ns, exit_ns, device_start_ns, device_end_ns," \
    " queued, start_low_ns, start_high_ns, end_low_ns, end_high_ns, likely_error_ns, level FROM v_operation" \
    " WHERE kind <> 'graph_launch' ORDER BY enter_ns"


class Operation(NamedTuple):
    kind: str                # launch, copy, memset
    name: Optional[str]      # of the kernel; direction of a copy
    device: int
    stream: int              # as that recorder numbers them
    enter_ns: int            # of the call, on the host
    exit_ns: Optional[int]
    start_ns: Optional[int]  # on the device; None: not recorded
    end_ns: Optional[int]
    queued: bool = True      # it waited in its queue: the times are stamps; else estimates
    bounds: Optional[tuple] = None  # start_low, start_high, end_low, end_high
    likely_ns: int = 0       # estimates are within this in 95 of 100 cases
    level: str = ""

    @property
    def duration_ns(self):
        return self.end_ns - self.start_ns

    @property
    def is_timed(self):
        return self.start_ns is not None and self.end_ns is not None


def of_trace(path):
    base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        demand_places(base)
        rows = base.execute(IN_ORDER).fetchall()
    finally:
        base.close()
    return [Operation(*row[:8], bool(row[8]), row[9:13], row[13] or 0, row[14]) for row in rows]


class Source(NamedTuple):
    """What came of asking for CUPTI, as a trace last says it."""

    refused: Optional[str]   # why not; None: its times are CUPTI's
    error: Optional[int]     # CUptiResult
    records: Optional[int]
    unclaimed: Optional[int]
    dropped: Optional[int]
    since_ns: Optional[int]  # when it was on: the first window's begin

    @property
    def why(self):
        return self.refused + ("" if self.error is None else f" (error {self.error})")


def cupti_source(path):
    base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        rows = base.execute("SELECT refused, error, records, unclaimed, dropped, (SELECT min(enter_ns) FROM "
                            "window) FROM device_source ORDER BY mono_ns DESC LIMIT 1").fetchall()
    finally:
        base.close()
    demand(rows, "CUPTI was asked for, and the trace does not say what came of it")
    return Source(*rows[0])


def of_truth(path):
    """The box's file; its clock is the program's."""
    found = []
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        op, device, stream, start, end, _, name, enter, left = line.split("\t")
        kind = "launch" if op == "kernel" else "copy" if op in COPIES else op
        if kind not in ("launch", "copy", "memset"):
            continue
        name = {"launch": name, "copy": op}.get(kind)
        found.append(Operation(kind, name, int(device), int(stream), int(enter), int(left), int(start),
                               int(end)))
    return sorted(found, key=lambda one: one.enter_ns)


def of_profile(path, folder, limit_s=None):
    """What torch.profiler exported; `folder` is for what is made of it. None: no limit."""
    kept = pathlib.Path(folder) / f"{pathlib.Path(path).name}.traces"
    command = [BUILD / "gpushim", "import", "kineto", path, "-o", f"{kept}.db", "--keep-traces", kept]
    try:
        done = subprocess.run([str(word) for word in command], text=True, check=False, timeout=limit_s,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except subprocess.TimeoutExpired as late:
        raise OutOfTime(f"gpushim import: not over after {limit_s:.0f} s") from late
    traces = sorted(kept.glob("*.db"))
    demand(traces, "gpushim import:", done.stderr.strip()[-300:] or "no trace")
    return of_trace(traces[0])
