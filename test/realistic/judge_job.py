"""One job of draw.py: recorded under the shim, run once more without it, and what the report says of it
judged by the box's truth."""
import contextlib
import ctypes
import json
import pathlib
import re
import sqlite3
import sys
import tempfile
from typing import List, NamedTuple

import box
import draw
import ended
import true_shares

HERE = pathlib.Path(__file__).resolve().parent
TRAIN = HERE / "as_drawn.py"
WITHIN = 0.05      # of a straggler's cost by the difference of two runs, where it is said as one figure
WORTH_MENTIONING = 0.01  # of a step
DIGIT = 0.0005     # shares are printed to a tenth of a per cent
AS_PRINTED = 0.01  # shares that are printed without a range: within a point
# Ranks that vary without one being slow: one of them may come last more often than by chance, for so much of
# a step.
OF_NOISE = 0.025
STARTUP_NS = 500_000  # what the shim does as it begins, and the program waits for, is in the run


class Share(NamedTuple):
    """A share that is printed, where it likely is, and what was."""

    what: str
    value: float
    low: float
    high: float
    true: float

    @property
    def holds(self):
        return self.low - DIGIT <= self.true <= self.high + DIGIT

    def __str__(self):
        return f"{self.what} {self.value:.4f} ({self.low:.4f} to {self.high:.4f}), in truth {self.true:.4f}"


class Judged(NamedTuple):
    job: draw.Job
    shares: List[Share]
    cost: float     # what is said of a straggler's cost, by the difference of the two runs; None: not judged
    is_range: bool  # … and it is said as a range, or as a bound
    faults: List[str]


def _train(folder, job, knobs, allowed=(0,)):
    (folder / "truth").mkdir(parents=True)
    command = [sys.executable, "-B", TRAIN, "--ranks", job.ranks, "--steps", job.steps, *job.options]
    done = box.run(command, {**knobs, **job.pace, "GPUSIM_TRUTH": f"{folder}/truth/%r"}, timeout=300)
    if done.returncode not in allowed:
        raise RuntimeError(f"{job}: exit {done.returncode}: {done.stdout[-500:]}{done.stderr[-2000:]}")
    return true_shares.Truth(folder / "truth", job.ranks) if 0 in allowed else None


def _record(folder, job):
    """Leaves traces."""
    shim = {"LD_PRELOAD": box.BUILD / "libgpushim.so", "GPUSHIM_OUT": f"{folder}/%r.db", **job.variables}
    if not job.ends:
        _train(folder, job, {**job.knobs(), **shim})
    else:
        _train(folder, job, {**job.knobs(), **shim, **job.ends}, allowed=(128 + 9,))
        failed = ctypes.CDLL(str(box.BUILD / "libgpushim.so")).gpushim_recover(str(folder).encode())
        if failed:
            raise RuntimeError(f"{job}: the traces were not recovered")
    if job.kind == "hung":
        ended.in_a_hang(folder, range(job.ranks), job.other)


def _report(folder, job):
    """What is said as text and as JSON, and with which code."""
    what = folder / f"{job.other}.db" if job.kind == "alone" else folder
    shown = [box.run([box.BUILD / "gpushim", "report", *options, what], sim=False, timeout=300)
             for options in ((), ("--json",))]
    return shown[0].stdout + shown[0].stderr, json.loads(shown[1].stdout), shown[0].returncode


def _steps_of(folder, rank, is_sampled):
    """What the figures of that rank's GPU are of: steps that are timed; where little is, all that count."""
    sql = ("SELECT c.number FROM v_counted_step c JOIN rank r USING (rank_id) WHERE r.rank = ?"
           if is_sampled else "SELECT b.number FROM v_gpu_basis b JOIN gpu g USING (gpu_id)"
           " JOIN rank r USING (rank_id) WHERE r.rank = ? AND b.basis = 'steps'")
    run = next(folder.glob("*run.db"))
    with contextlib.closing(sqlite3.connect(run)) as base:
        return sorted(number for number, in base.execute(sql, (rank,)))


def _shares(folder, said, truth):
    shares = []
    for gpu in said["gpus"]:
        rank = gpu["rank"]
        steps = [step for step in _steps_of(folder, rank, gpu["sampled"]) if truth.knows(step)]
        true = truth.shares(rank, steps) if steps and gpu["basis"] == "steps" else {}
        for part, value in true.items():
            said_share = gpu[f"{part}_share"]
            if said_share is None:
                continue
            low, high = (gpu.get(f"{part}_share_likely_{end}") for end in ("low", "high"))
            if low is None:
                low, high = said_share - AS_PRINTED, said_share + AS_PRINTED
            shares.append(Share(f"rank {rank} {part}", said_share, low, high, value))
        if gpu["run_busy_share"] is not None:
            more = STARTUP_NS / truth.run_ns(rank)
            shares.append(Share(f"rank {rank} busy, whole run", gpu["run_busy_share"],
                                gpu["run_busy_share_likely_low"], gpu["run_busy_share_likely_high"] + more,
                                truth.run_busy_share(rank)))
    return shares


def _parts_faults(said):
    """What is said of a GPU is one whole, and what cannot be known of one rank alone is not said."""
    for gpu in said["gpus"]:
        parts = [gpu[f"{part}_share"] for part in true_shares.PARTS]
        if None not in parts and abs(sum(parts) - 1) > 1e-6:
            yield f"the shares of rank {gpu['rank']} add up to {sum(parts):.6f}"
        if gpu["idle_share"] is not None and abs(gpu["idle_share"] + gpu["busy_share"] - 1) > 1e-6:
            yield f"busy and idle of rank {gpu['rank']} are not 1"


def _whole_periods(job, first, last):
    """The last step of as many whole periods as fit: every n-th step reads the loss, and waits for all that
    its host has launched ahead."""
    every = int(job.options[job.options.index("--loss-every") + 1])
    periods = (last + 1 - first) // every
    return first + periods * every - 1 if periods else last


def _straggler(job, text, said, truth, alike):
    """(its cost, said by true; whether it is said as a range; faults)"""
    found = said["skew"]["straggler"]
    if job.slow is None or job.kind == "alone":
        noise_ns = OF_NOISE * (said["steps"]["median_ns"] or 0) if job.noisy else 0
        if found and found["time_saved_per_step_ns"] > noise_ns:
            return None, False, [f"rank {found['rank']} is called a straggler, and none is"]
        return None, False, []
    steps = said["steps"]
    last = _whole_periods(job, steps["first"], min(steps["last"], job.steps - 2))
    if last < steps["first"]:
        return None, False, []
    alike_ns = alike.step_ns(steps["first"], last)
    true_ns = truth.step_ns(steps["first"], last) - alike_ns
    if not found:
        is_fault = job.kind == "whole" and true_ns > WORTH_MENTIONING * alike_ns
        return None, False, ["no straggler was found"] if is_fault else []
    faults = []
    if (found["rank"], found["cause"]) != (job.slow, "compute"):
        faults.append(f"straggler rank {found['rank']}, cause {found['cause']}; in truth {job.slow}, compute")
    saved_ns = found["time_saved_per_step_ns"]
    is_range = " to " in re.search(r"makes a step(.*?) longer", text)[1]
    low_ns, high_ns = (1 - WITHIN) * saved_ns, (1 + WITHIN) * saved_ns
    if is_range:
        low_ns, high_ns = found["least_saved_per_step_ns"] or 0, found["most_saved_per_step_ns"]
    if not low_ns <= true_ns <= high_ns:
        faults.append(f"a straggler's cost is said to be {saved_ns:,} ns of a step ({low_ns:,.0f} to"
                      f" {high_ns:,.0f}), and is {true_ns:,.0f}")
    return saved_ns / true_ns if true_ns > 0 else None, is_range, faults


def _hang_faults(job, said, text, code):
    hang = said["hang"]
    if job.kind != "hung":
        return [] if hang["for_ns"] is None else [f"said to hang, and did not: {text[:200]}"]
    missing = [rank["rank"] for rank in hang["missing"] or []]
    if code != 1 or missing != [job.other] or not text.startswith("VERDICT  hung: "):
        return [f"rank {job.other} hung; said: code {code}, missing {missing}"]
    return []


def judged(seed):
    job = draw.job_of(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name, "traced")
        _record(folder, job)
        text, said, code = _report(folder, job)
        truth = _train(pathlib.Path(name, "alone"), job, job.knobs())
        alike = (_train(pathlib.Path(name, "alike"), job, job.knobs(is_slow=False))
                 if job.slow is not None else None)
        faults = [*_parts_faults(said), *_hang_faults(job, said, text, code)]
        faults += [f"contradictory: {one['text']}" for one in said["contradictions"]]
        if code != (1 if job.kind == "hung" else 0):
            faults.append(f"the report ended with {code}")
        if not said["steps"]["count"]:
            faults.append("no steps")
        cost, is_range = None, False
        if job.kind != "hung":
            cost, is_range, more = _straggler(job, text, said, truth, alike)
            faults += more
        shares = [] if job.kind == "hung" else _shares(folder, said, truth)
        if not shares and job.kind != "hung":
            faults.append("no share is said")
    return Judged(job, shares, cost, is_range, faults)
