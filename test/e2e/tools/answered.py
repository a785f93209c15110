"""Runs of ranks (answer/ranks.py) on the box in stepped time under the shim, and what is analysed of them."""
import pathlib
import sqlite3

import box

RANKS = pathlib.Path(__file__).parent / "answer/ranks.py"
GPUSHIM = box.BUILD / "gpushim"


def run_ranks(folder, ranks, steps, operation, floats, knobs):
    """Leaves a trace of each rank, RANK.db, in that folder."""
    knobs = {"GPUSIM_CLOCK": "stepped", "GPUSIM_DEVICES": ranks, "LD_PRELOAD": box.BUILD / "libgpushim.so",
             "GPUSHIM_OUT": f"{folder}/%r.db", "GPUSHIM_BUDGET": "100%", **knobs}
    done = box.run(["python3", RANKS, ranks, steps, operation, floats], knobs)
    if done.returncode or done.stderr:
        raise RuntimeError(done.stderr)


def analysed(folder, *options):
    """The run's database, of all traces in that folder; whoever asks closes it."""
    database = pathlib.Path(folder, "run.db")
    done = box.run([GPUSHIM, "analyze", folder, "-o", database, *options], sim=False)
    if done.returncode or done.stderr:
        raise RuntimeError(done.stderr)
    return sqlite3.connect(database)
