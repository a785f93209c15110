"""Runs a workload on the box's stepped clock under the shim; what comes out is traces and their truths."""
import ctypes
import json
import pathlib
import sys
from typing import NamedTuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e" / "tools"))
import box  # noqa: E402
import preload  # noqa: E402

WORKLOADS = box.BUILD / "accuracy" / "workloads"

# Every length of kernel that a workload uses: what opaque names stand for.
DURATIONS_NS = (1_000, 2_000, 5_000, 7_000, 10_000, 20_000, 30_000, 50_000, 100_000, 200_000, 300_000,
                400_000, 1_000_000)
OPAQUE = ",".join(f"kernel_{chr(ord('a') + i)}={ns}" for i, ns in enumerate(DURATIONS_NS))

EVENT_NS, EVENT_LATENCY_NS = 1_500, 2_500  # the box's defaults


class Workload(NamedTuple):
    name: str
    devices: int
    steps: int
    what: str


class Traced(NamedTuple):
    """One process."""

    trace: pathlib.Path
    truth: pathlib.Path


def workloads():
    done = box.run([WORKLOADS])
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return [Workload(name, int(devices), int(steps), what) for name, devices, steps, what in rows]


def box_knobs(workload, opaque=False, event_factor=1, **more):
    knobs = {"GPUSIM_CLOCK": "stepped", "GPUSIM_DEVICES": workload.devices or 8,
             "GPUSIM_EVENT_NS": EVENT_NS * event_factor,
             "GPUSIM_EVENT_LATENCY_NS": EVENT_LATENCY_NS * event_factor}
    if opaque:
        knobs["GPUSIM_DURATIONS"] = OPAQUE
    return {**knobs, **more}


def record(folder, workload, steps=None, seed=1, shim=True, truth=True, **knobs):
    """Traced processes, those without a trace left out. Without the shim: the truths alone (trace None)."""
    folder = pathlib.Path(folder)
    around = preload.variables(folder) if shim else {}
    if truth:
        around["GPUSIM_TRUTH"] = f"{folder}/truth.%p"
    words = [WORKLOADS, workload.name, steps or workload.steps, seed]
    done = box.run(words, {**around, **knobs}, timeout=200)
    if done.returncode != 0 or done.stderr:
        raise RuntimeError(f"{workload.name}: exit {done.returncode}: {done.stderr[-2000:]}")
    truths = {path.name.split(".")[1]: path for path in folder.glob("truth.*") if path.suffix != ".counts"}
    if not shim:
        return [Traced(None, truth) for truth in truths.values()]
    bring_in(folder)
    traces = {path.name.split(".")[1]: path for path in folder.glob("trace.*.db")}
    # Children that a process forks before it uses the driver write into its own truth.
    shared = next(iter(truths.values()), None)
    return [Traced(trace, truths.get(pid, shared)) for pid, trace in sorted(traces.items())]


def bring_in(folder):
    """What an exit had no time for, as on a busy machine, goes into the traces."""
    failed = ctypes.CDLL(str(preload.SHIM)).gpushim_recover(str(folder).encode())
    if failed:
        raise RuntimeError(f"{folder}: the traces were not recovered")


def report(traces):
    """What `gpushim report --json` says of them."""
    done = box.run([preload.ANALYZER, "report", "--json", *traces], sim=False)
    if done.returncode != 0:
        raise RuntimeError(f"report: exit {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout)
