#!/usr/bin/env python3
"""Records the eight variants on the simulated box, and says what came of each: series.py FOLDER [BATCH]"""
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "cases"))
import gallery  # noqa: E402
from variants import VARIANTS, variant_options  # noqa: E402,F401

STEPS = 20
# Of the box: 22 GB/s from pinned memory, 2 from ordinary one, a launch of eager code.
KNOBS = {"GPUSIM_H2D_GBS": 22, "GPUSIM_PAGEABLE_GBS": 2, "GPUSIM_LAUNCH_NS": 6000}


def record(variant, folder, batch=32, steps=STEPS, name=None):
    """Leaves the trace of a variant in the folder, which is made. Each starts an hour after the last."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    program = [FOLDER / "simulated.py", "--variant", variant, "--batch", batch, "--steps", steps,
               "--starts-after", 3600 * variant]
    gallery.trace(program, folder, {**KNOBS, "GPUSHIM_TAG": f"variant={name or VARIANTS[variant][0]}"})


def record_all(folder, batch=32, steps=STEPS, order=range(len(VARIANTS)), names=None):
    """All of them, recorded in that order; returns where they are, by variant. They are called `0_baseline`
    and so on, or by what `names` has."""
    names = names or [name for name, _ in VARIANTS]
    places = [pathlib.Path(folder) / f"{number}_{name}" for number, name in enumerate(names)]
    for variant in order:
        record(variant, places[variant], batch, steps, names[variant])
    return places


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    for place in record_all(sys.argv[1], *map(int, sys.argv[2:])):
        print(gallery.line_of(place))


if __name__ == "__main__":
    main()
