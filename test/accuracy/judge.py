"""What a run is held to, and by how much it keeps it."""
import tempfile
from typing import List, NamedTuple

from compare import TOLERANCE_NS, Errors, operations_of, read_truth, union_ns
from recorded import box_knobs, record, report

LIKELY = 0.95           # of the estimates are within their stated error
MOSTLY_QUEUED = 0.95    # from here on the busy share is to be exact …
EXACT_SHARE = 0.002     # … to this
# From here on recording an event takes the thread as long as the event takes on the device, of which half is
# assumed then.
LONG_LOCK_NS = 1_000
UNTIMED = 40            # operations of a process that begin before events of ours are there
CLOCK_BEGINS_NS = 1_000_000_000  # of the box, where it is stepped: every run begins there
WHOLLY_TIMED = 0.98     # of a run: the rest of it is too little to matter
MIXED_STEPS = {100: 1_000_000, 1_000: 3_000_000}  # runs of about 0.1 s and 1 s: so far off may the busy ns be
MIXED_WIDTH = 0.03      # of most intervals in which the truth likely is


class Window(NamedTuple):
    """A device in a timed window: its busy share as it ran, by the trace and in truth."""

    low: float
    high: float
    estimate: float
    true: float
    queued_share: float
    is_refused: bool  # too little of it is timed: its bounds are all that the report goes by

    @property
    def contains(self):
        return self.low <= self.true <= self.high


class Result(NamedTuple):
    label: str
    errors: Errors
    windows: List[Window]
    faults: List[str]


def _windows(traced, said):
    """Of one process."""
    _, operations = read_truth(traced.truth)
    found = []
    for gpu in said["windows"]:
        mine = [span for span in operations if span[2] == gpu["device"]]
        for window in gpu["windows"]:
            begin, end = window["from_ns"], window["until_ns"]
            length = end - begin
            if length <= 0:
                continue
            count = window["queued"] + window["unqueued"]
            found.append(Window(window["as_it_ran_low_ns"] / length, window["as_it_ran_high_ns"] / length,
                                window["as_it_ran_ns"] / length, union_ns(mine, begin, end) / length,
                                window["queued"] / count if count else 0.0, window["refused"]))
    return found


def faults_of(errors, windows, exact=True):
    """Each in one line. `exact`: no gaps that nobody measured are in the stamps; events can be measured."""
    faults = []
    if errors.operations == 0:
        faults.append("no operation was compared")
    if errors.operations - errors.timed > UNTIMED * errors.processes + errors.left_out:
        faults.append(f"{errors.operations - errors.timed} of {errors.operations} operations are not timed")
    if errors.worst_queued_ns > TOLERANCE_NS:
        faults.append(f"a queued operation is {errors.worst_queued_ns} ns off")
    if errors.outside:
        row, true = errors.outside[0]
        faults.append(f"{len(errors.outside)} operations outside of their bounds, first {row}: {true}")
    if errors.likely_share is not None and errors.likely_share < LIKELY:
        faults.append(f"{errors.likely_share:.1%} of {errors.unqueued} estimates within their stated error")
    for window in windows:
        if not window.contains:
            faults.append(f"busy {window.true:.4f} is not in [{window.low:.4f}, {window.high:.4f}]")
        elif exact and not window.is_refused and window.queued_share >= MOSTLY_QUEUED and \
                abs(window.estimate - window.true) > EXACT_SHARE:
            faults.append(f"busy {window.true:.4f} is said to be {window.estimate:.4f}")
    return faults


def everything_timed(workload, opaque=False, event_factor=1, steps=None, label="", **more):
    """The workload with events around every operation."""
    costs = f"events x{event_factor}" if event_factor > 1 else ""
    label = " ".join(filter(None, (workload.name, "opaque" if opaque else "", costs, label)))
    errors, windows = Errors(), []
    knobs = box_knobs(workload, opaque, event_factor, GPUSHIM_BUDGET="100%", **more)
    with tempfile.TemporaryDirectory() as folder:
        for traced in record(folder, workload, steps, **knobs):
            errors.add(traced.trace, traced.truth)
            windows += _windows(traced, report([traced.trace]))
    exact = "GPUSIM_GAP_NS" not in more and more.get("GPUSIM_LOCK_NS", 0) < LONG_LOCK_NS
    return Result(label, errors, windows, faults_of(errors, windows, exact))


class HostOnly(NamedTuple):
    low: float
    high: float
    true: float

    @property
    def contains(self):
        return self.low <= self.true <= self.high


def host_only(workload, opaque=False, steps=None):
    """Without device times: bounds from what the host saw, per device."""
    found = []
    knobs = box_knobs(workload, opaque, GPUSHIM_DEVICE_TIME="off")
    with tempfile.TemporaryDirectory() as folder:
        for traced in record(folder, workload, steps, **knobs):
            said = report([traced.trace])
            _, operations = read_truth(traced.truth)
            for gpu in said["windows"]:
                mine = [span for span in operations if span[2] == gpu["device"]]
                begin, length = gpu["run_from_ns"], gpu["window_ns"]
                true = union_ns(mine, begin, begin + length) / length
                found.append(HostOnly(gpu["busy_share_low"], gpu["busy_share_high"], true))
    return found


class Sampled(NamedTuple):
    """A run under the default budget, and the same without the shim: what its windows say of all of it."""

    seed: int
    windows: int
    low: float
    high: float
    estimate: float
    true: float
    own_cost_share: float

    @property
    def contains(self):
        return self.low <= self.true <= self.high


def true_share(workload, steps=None, seed=1, **more):
    """{device: busy share} of a run without the shim, from its begin to its end."""
    with tempfile.TemporaryDirectory() as folder:
        traced, = record(folder, workload, steps, seed, shim=False, **box_knobs(workload, **more))
        operations, returned = operations_of(traced.truth)
    begin, end = CLOCK_BEGINS_NS, max(returned, max(span[1] for span in operations))
    devices = {span[2] for span in operations}
    return {device: union_ns([span for span in operations if span[2] == device], begin, end) / (end - begin)
            for device in devices}


def sampled(workload, seed, steps=None):
    true = true_share(workload, steps, seed)[0]
    with tempfile.TemporaryDirectory() as folder:
        traced, = record(folder, workload, steps, seed, truth=False, **box_knobs(workload))
        said = report([traced.trace])
    gpu, trust = said["windows"][0], said["trust"]
    return Sampled(seed, len(gpu["windows"]), gpu["busy_share_likely_low"], gpu["busy_share_likely_high"],
                   gpu["busy_share"], true, trust["own_cost_share"])


class WithoutUs(NamedTuple):
    """What a fully timed run says the share would have been without our events, and what it was."""

    label: str
    low: float
    high: float
    estimate: float
    true: float


def without_us(workload, steps=None):
    true = true_share(workload, steps)
    with tempfile.TemporaryDirectory() as folder:
        traced, = record(folder, workload, steps, GPUSHIM_BUDGET="100%", **box_knobs(workload))
        said = report([traced.trace])
    return [WithoutUs(workload.name, gpu["busy_share_likely_low"], gpu["busy_share_likely_high"],
                      gpu["busy_share"], true[gpu["device"]])
            for gpu in said["windows"] if gpu["busy_share"] is not None]


def faults_without_us(row):
    """What is asked of the loop that the host cannot feed, and of copies that wait in their calls; the rest
    is for reading."""
    if row.label not in ("launch_starved", "pageable_async"):
        return []
    faults = []
    if not row.low <= row.true <= row.high:
        faults.append(f"{row.label}: {row.true:.4f} is not in [{row.low:.4f}, {row.high:.4f}]")
    if row.label == "launch_starved" and row.high >= 0.7:
        faults.append(f"{row.label}: reads as busy: up to {row.high:.4f}")
    if abs(row.estimate - row.true) > 0.05:
        faults.append(f"{row.label}: said to be {row.estimate:.4f}")
    return faults


class Mixed(NamedTuple):
    """A wholly timed run of everything at once, and the same without the shim: shares of the whole run."""

    seed: int
    steps: int
    estimate: float
    likely_low: float
    likely_high: float
    low: float
    high: float
    true: float
    timed_share: float
    run_ns: int

    @property
    def error(self):
        return abs(self.estimate - self.true)

    @property
    def likely_width(self):
        return self.likely_high - self.likely_low

    @property
    def is_likely(self):
        return self.likely_low <= self.true <= self.likely_high

    @property
    def wholly_timed(self):
        return self.timed_share >= WHOLLY_TIMED


def mixed(workload, seed, steps, **more):
    true = true_share(workload, steps, seed, **more)[0]
    with tempfile.TemporaryDirectory() as folder:
        traced, = record(folder, workload, steps, seed, truth=False, GPUSHIM_BUDGET="100%",
                         **box_knobs(workload, **more))
        gpu, = report([traced.trace])["windows"]
    return Mixed(seed, steps, gpu["busy_share"], gpu["busy_share_likely_low"], gpu["busy_share_likely_high"],
                 gpu["busy_share_low"], gpu["busy_share_high"], true, gpu["timed_share"],
                 gpu["window_ns"])


def faults_mixed(rows):
    """Of some runs of as many steps. A short run may begin without device times: how far off and how wide a
    figure is, is asked only of runs that are nearly all timed; whether its range holds the truth, of all."""
    faults, whole = [], [row for row in rows if row.wholly_timed]
    if len(whole) < len(rows) / 2:
        faults.append(f"only {len(whole)} of {len(rows)} are wholly timed")
    for row in rows:
        if not row.low <= row.true <= row.high:
            faults.append(f"seed {row.seed}: {row.true:.4f} is not in [{row.low:.4f}, {row.high:.4f}]")
    likely = sum(row.is_likely for row in rows)
    if likely < LIKELY * len(rows):
        faults.append(f"{likely} of {len(rows)} runs are where they are said to be likely")
    for row in whole:
        if row.error * row.run_ns > MIXED_STEPS[row.steps]:
            faults.append(f"seed {row.seed}: {row.true:.4f} is said to be {row.estimate:.4f}")
    wide = [row.seed for row in whole if row.likely_width > MIXED_WIDTH]
    if len(wide) > (1 - LIKELY) * len(whole):
        faults.append(f"the likely intervals of seeds {wide} of {len(whole)} are wide")
    return faults
