#!/usr/bin/env python3
"""Records the three rungs on the simulated box and says what came of each, beside what was published, and
whether the first finding of each names the next: ladder.py FOLDER"""
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "cases"))
import gallery  # noqa: E402
import next_change  # noqa: E402
import runs_table  # noqa: E402
from rungs import RUNGS  # noqa: E402

STEPS = 44
HEADER = ("run", "step", "published", "kernels", "productive", "idle", "first finding", "the next change")


def record(number, folder, steps=STEPS):
    place = pathlib.Path(folder) / f"{number}_{RUNGS[number].name}"
    place.mkdir(parents=True)
    gallery.trace([FOLDER / "simulated.py", "--rung", RUNGS[number].name, "--steps", steps], place,
                  {"GPUSHIM_TAG": f"precision={RUNGS[number].name}"})
    return place


def run_on_the_box(number, folder):
    place = record(number, folder)
    report = gallery.report_of(place)
    return runs_table.Run(place.name, {"samples_per_s": report["steps"]["samples_per_s"]}, report)


def cells(number, run, answer):
    """Of a row under HEADER."""
    gpu, = run.report["gpus"]
    return (run.name, f"{run.report['steps']['median_ns'] / 1e6:.1f} ms", f"{RUNGS[number].published_ms} ms",
            runs_table.kernels_text(run.report), next_change.percent(gpu["productive_share"]),
            next_change.percent(gpu["idle_share"]),
            *runs_table.first_and_next(run, answer, RUNGS[number + 1:]))


def lines(runs):
    """A table of the runs, and what it comes to."""
    yield from runs_table.table(HEADER, cells, runs, RUNGS)


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    print(*lines([run_on_the_box(number, sys.argv[1]) for number in range(len(RUNGS))]), sep="\n")


if __name__ == "__main__":
    main()
