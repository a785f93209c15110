"""Programs of PyTorch that only a GPU makes sense of, run once on the CPU, with the shim in front and no
driver: so that they do not run for the first time where time is short. No figure comes of it."""
import pathlib
import tempfile

import step_cost
import taking_turns
from frameworks import variables
from machine import PROGRAMS, Row, Skip, demand, printed_json
from taking_turns import Mode

ORDER, LIMIT_S = 95, 240
CPU = ("--device", "cpu")


def check(machine):
    if not machine.simulated:
        raise Skip("they run on the GPU, in rows of their own")
    alone = (["memory.py", "torch"], ["loops.py", "queued", "--steps", "20"],
             ["loops.py", "unqueued", "--steps", "20", "--profile"])
    with tempfile.TemporaryDirectory(prefix="gpushim-cpu-") as folder:
        profile = pathlib.Path(folder) / "profile.json"
        for program, *words in alone:
            command = [machine.python, "-B", PROGRAMS / program, *words,
                       *([profile] if "--profile" in words else []), *CPU]
            said = printed_json(machine.plain(command, **variables(machine, LD_PRELOAD=machine.library)))
            if "missing" in said:
                raise Skip(said["missing"])
        demand(profile.stat().st_size > 0, "no profile was written")
    yield Row("loops and memory of PyTorch", "they run")
    yield in_turns(machine)


def in_turns(machine):
    here = variables(machine)
    modes = {"bare": Mode(variables=here), "host-only": Mode(True, {**here, "GPUSHIM_DEVICE_TIME": "off"}),
             "profiler": Mode(variables=here, words=("--profiler", "default"))}
    command = [machine.python, "-B", PROGRAMS / "turns.py", "torch", *CPU]
    with taking_turns.players(machine, command, modes) as everyone:
        for workload in step_cost.WORKLOADS:
            there, missing = taking_turns.load(everyone, workload)
            demand(not missing, workload, missing)
            for name, player in there.items():
                demand(player.told("go 1 1").get("step_ns"), name, "has timed no step of", workload)
            taking_turns.all_told(there, "unload")
    return Row("steps in turns of PyTorch", ", ".join(step_cost.WORKLOADS) + ": they run")
