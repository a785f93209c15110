"""examples/train on the box in stepped time under the shim, and the report on it."""
import json
import pathlib
import sys

import box

TRAIN = box.ROOT / "examples" / "train" / "train.py"
UPDATE = "sgd_update"  # the last kernels of a step, so many as there are layers
LAYERS = 8


def train(folder, ranks, *options, steps=40, knobs=None):
    """Leaves the traces in that folder (RANK.db), and the truth (truth.RANK) in its folder `truth`."""
    folder = pathlib.Path(folder)
    (folder / "truth").mkdir(parents=True)
    knobs = {"GPUSIM_CLOCK": "stepped", "GPUSIM_DEVICES": ranks, "LD_PRELOAD": box.BUILD / "libgpushim.so",
             "GPUSIM_TRUTH": f"{folder}/truth/%r", "GPUSHIM_OUT": f"{folder}/%r.db",
             "GPUSHIM_BUDGET": "100%", **(knobs or {})}
    command = [sys.executable, "-B", TRAIN, "--ranks", ranks, "--steps", steps, *options]
    done = box.run(command, knobs)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)


def report(*traces, code=0):
    """What the report says, as a person reads it and as JSON."""
    shown = [box.run([box.BUILD / "gpushim", "report", *options, *traces], sim=False)
             for options in ((), ("--json",))]
    for done in shown:
        if done.returncode != code:
            raise RuntimeError(f"exit code {done.returncode}: {done.stdout}{done.stderr}")
    return shown[0].stdout, json.loads(shown[1].stdout)


def true_step_ns(folder, rank=0):
    """The mean from one step's end to the next on that rank's GPU, without those that warm up."""
    ends = [row.end_ns for row in box.read_truth(pathlib.Path(folder, "truth", str(rank)))
            if row.op == "kernel" and UPDATE in row.name][LAYERS - 1::LAYERS]
    return (ends[-2] - ends[5]) / (len(ends) - 7)
