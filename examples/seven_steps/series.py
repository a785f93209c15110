#!/usr/bin/env python3
"""Records the eight variants and says what came of each, beside what was published, and whether the first
finding of each names what the next one changes.

    series.py FOLDER [BATCH]                  on the simulated box
    series.py FOLDER --real [--seconds 8 …]   train.py on this machine's GPU; options are those of train.py
"""
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "cases"))
import gallery  # noqa: E402
import real  # noqa: E402
import runs_table  # noqa: E402
from variants import VARIANTS, variant_options  # noqa: E402,F401

STEPS, BATCH = 20, 32
# Of the box: 22 GB/s from pinned memory, 2 from ordinary one, a launch of eager code.
KNOBS = {"GPUSIM_H2D_GBS": 22, "GPUSIM_PAGEABLE_GBS": 2, "GPUSIM_LAUNCH_NS": 6000}
HEADER = ("run", "samples/s", "published", "kernels", "published", "first finding", "the next change")


def record(variant, folder, batch=BATCH, steps=STEPS, name=None, knobs=None):
    """Leaves the trace of a variant in the folder, which is made. Each starts an hour after the last."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    program = [FOLDER / "simulated.py", "--variant", variant, "--batch", batch, "--steps", steps,
               "--starts-after", 3600 * variant]
    tag = {"GPUSHIM_TAG": f"variant={name or VARIANTS[variant].name}"}
    gallery.trace(program, folder, {**KNOBS, **tag, **(knobs or {})})


def places_in(folder, names=None):
    names = names or [variant.name for variant in VARIANTS]
    return [pathlib.Path(folder) / f"{number}_{name}" for number, name in enumerate(names)]


def record_all(folder, batch=BATCH, steps=STEPS, order=range(len(VARIANTS)), names=None):
    """All of them, recorded in that order; returns where they are, by variant. They are called `0_baseline`
    and so on, or by what `names` has."""
    places = places_in(folder, names)
    for variant in order:
        record(variant, places[variant], batch, steps, names and names[variant])
    return places


def run_on_the_box(variant, folder, batch=BATCH, steps=STEPS, knobs=None):
    place = places_in(folder)[variant]
    record(variant, place, batch, steps, knobs=knobs)
    report = gallery.report_of(place)
    told = {"steps": steps, "batch": batch * variant_options(variant).times_batch,
            "samples_per_s": report["steps"]["samples_per_s"]}
    return runs_table.Run(place.name, told, report)


def real_run(variant, folder, options, **how):
    """how: as for `real.record`."""
    return real.record(FOLDER / "train.py", ["--variant", variant, *options], places_in(folder)[variant],
                       f"variant={VARIANTS[variant].name}", **how)


def cells(variant, run, answer):
    """Of a row under HEADER."""
    published = VARIANTS[variant]
    return (run.name, f"{run.told['samples_per_s']:,.0f}", f"{published.samples_per_s:,.0f}",
            runs_table.kernels_text(run.report), published.busy or "-",
            *runs_table.first_and_next(run, answer, VARIANTS[variant + 1:]))


def lines(runs):
    """A table of the runs of the first so many variants, and what it comes to."""
    yield from runs_table.table(HEADER, cells, runs, VARIANTS)


def main():
    print(*lines(runs_table.runs_asked_for(__doc__, len(VARIANTS), run_on_the_box, real_run)), sep="\n")


if __name__ == "__main__":
    main()
