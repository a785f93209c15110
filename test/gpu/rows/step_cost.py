"""What a step costs under each way of recording, and under PyTorch's own profiler: processes that take turns.

The goals are printed as met or not, beyond the spread or within it; nothing is asserted of times.
"""
import contextlib
import sqlite3
import sys
import time

import taking_turns
from machine import PROGRAMS, Row, Skip, demand
from taking_turns import Mode

ORDER, LIMIT_S = 31, 100
WORKLOADS = ("resnet50", "resnet18", "transformer", "eager", "graph")  # programs/models.py
SHIM = {
    "host-only": Mode(True, {"GPUSHIM_DEVICE_TIME": "off"}),
    "default": Mode(True),
    "events": Mode(True, {"GPUSHIM_BUDGET": "100%"}),
    "cupti": Mode(True, {"GPUSHIM_DEVICE_TIME": "cupti"}),
}
PROFILER = {"profiler, CUDA only": Mode(words=("--profiler", "cuda")),
            "profiler": Mode(words=("--profiler", "default"))}
TINY = ("eager", "graph")  # so many launches that a profiler takes long to end where it has seen all
TRAINING = ("resnet18", "resnet50", "transformer")
LAUNCHES = "SELECT (SELECT count(*) FROM launch) + (SELECT count(*) FROM graph_launch)"
LEVELS = "SELECT DISTINCT level FROM level_error ORDER BY level"
GOALS = {"host-only": 0.003, "default": 0.01}  # on real training


def check(machine):
    if machine.simulated:
        launches = [sys.executable, "-B", PROGRAMS / "turns.py", "launches"]
        yield from played(machine, launches, ("launches",), SHIM, seconds=0.5)
        return
    yield from played(machine, [machine.python, "-B", PROGRAMS / "turns.py", "torch"], WORKLOADS,
                      {**SHIM, **PROFILER})


def played(machine, command, workloads, modes, seconds=None):
    """`seconds`: for each workload; else what there is, when all are ready."""
    with taking_turns.players(machine, command, {"bare": Mode(), **modes}) as everyone:
        for index, workload in enumerate(workloads):
            there, missing = taking_turns.load(everyone, workload)
            if "bare" not in there:
                raise Skip(f"{workload}: {missing['bare']}")
            given_s = seconds or max(0.6 * machine.left_s() / (len(workloads) - index), 3)
            tiny = machine.simulated or workload in TINY
            rounds = taking_turns.play(there, given_s, *([0.02, 2, 10] if tiny else []))
            taking_turns.all_told(there, "unload")
            by = {mode: recorded(there[mode]) for mode in SHIM if mode in there}
            yield row(workload, rounds, missing, by)


def recorded(player, patience_s=5):
    """Whose device times a trace has that is still being written; none: the host's times alone."""
    until_s = time.monotonic() + patience_s
    while True:
        try:
            base = sqlite3.connect(f"file:{player.folder}/trace.db?mode=ro", uri=True)
            with contextlib.closing(base):
                if base.execute(LAUNCHES).fetchone()[0] > 0:
                    return [level for level, in base.execute(LEVELS)] or ["host"]
        except sqlite3.Error:  # it is only being made
            pass
        demand(time.monotonic() < until_s, "a process that took turns has recorded no launch")
        time.sleep(0.2)


def row(workload, rounds, missing, by):
    bare_ns = sorted(turn["bare"] for turn in rounds)[len(rounds) // 2]
    found = {mode: taking_turns.costs(rounds, mode) for mode in rounds[0] if mode != "bare"}
    said = [f"a bare step {bare_ns / 1e6:.3f} ms",
            *(f"{mode} {cost}" + told(by.get(mode)) for mode, cost in found.items()),
            *(f"{mode} not run: {why}" for mode, why in missing.items()), f"{len(rounds)} rounds"]
    said += goals(workload, found)
    figures = {mode: cost._asdict() for mode, cost in found.items()}
    return Row(f"a step of {workload}", "; ".join(said), {"bare_ns": bare_ns, "rounds": rounds, **figures})


def told(by):
    return f" by {' and '.join(by)}" if by else ""


def goals(workload, found):
    told = []
    if workload in TRAINING:
        told += [f"goal {mode} <= {goal:.1%}: {found[mode].against(goal)}" for mode, goal in GOALS.items()
                 if mode in found]
    profilers = [found[mode] for mode in PROFILER if mode in found]
    if profilers:
        least = min(profilers, key=lambda cost: cost.share)
        for mode in ("host-only", "default"):
            if mode in found:
                below = "met" if found[mode].high < least.low else \
                    "not met" if found[mode].low > least.high else "within the spread"
                told.append(f"goal {mode} below the profiler: {below}")
    return told
