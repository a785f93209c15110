#!/usr/bin/env python3
"""Records the four rungs and says what came of each, beside what was published, and whether the first finding
of each names the next.

    ladder.py FOLDER                          on the simulated box
    ladder.py FOLDER --real [--seconds 8 …]   train.py on this machine's GPU; options are those of train.py
"""
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path += [str(FOLDER.parent / "seven_steps"), str(FOLDER.parent / "cases")]
import gallery  # noqa: E402
import real  # noqa: E402
import runs_table  # noqa: E402
from rungs import RUNGS, SAMPLES  # noqa: E402

STEPS = 20
HEADER = ("run", "kernels", "published", "samples/s", "first finding", "the next change")


def place_of(number, folder):
    return pathlib.Path(folder) / f"{number}_{RUNGS[number].name}"


def record(number, folder, steps=STEPS, knobs=None):
    place = place_of(number, folder)
    place.mkdir(parents=True)
    program = [FOLDER / "simulated.py", "--rung", RUNGS[number].name, "--steps", steps]
    gallery.trace(program, place, {"GPUSHIM_TAG": f"precision={RUNGS[number].name}", **(knobs or {})})
    return place


def record_all(folder):
    """Folders `0_fp32` to `3_channels_last`, in order."""
    return [record(number, folder) for number in range(len(RUNGS))]


def run_on_the_box(number, folder, steps=STEPS, knobs=None):
    place = record(number, folder, steps, knobs)
    report = gallery.report_of(place)
    told = {"steps": steps, "batch": SAMPLES, "samples_per_s": report["steps"]["samples_per_s"]}
    return runs_table.Run(place.name, told, report)


def real_run(number, folder, options, **how):
    """how: as for `real.record`."""
    name = RUNGS[number].name
    return real.record(FOLDER / "train.py", ["--rung", name, *options], place_of(number, folder),
                       f"precision={name}", **how)


def kernels_ms(report):
    """Of a step: while any of them ran."""
    gpu = report["gpus"][0] if report and report["gpus"] else {"compute_share": None}
    if gpu["compute_share"] is None:
        return None
    return gpu["compute_share"] * gpu["window_ns"] / gpu["steps"] / 1e6


def cells(number, run, answer):
    """Of a row under HEADER."""
    took_ms = kernels_ms(run.report)
    return (run.name, "-" if took_ms is None else f"{took_ms:.2f} ms", f"{RUNGS[number].published_ms:.2f} ms",
            f"{run.told['samples_per_s']:,.0f}", *runs_table.first_and_next(run, answer, RUNGS[number + 1:]))


def lines(runs):
    """A table of the runs of the first so many rungs, and what it comes to."""
    yield from runs_table.table(HEADER, cells, runs, RUNGS)


def main():
    print(*lines(runs_table.runs_asked_for(__doc__, len(RUNGS), run_on_the_box, real_run)), sep="\n")


if __name__ == "__main__":
    main()
