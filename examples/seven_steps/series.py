#!/usr/bin/env python3
"""Records the eight variants on the simulated box: series.py FOLDER [BATCH]. Then: gpushim ledger FOLDER/*"""
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "cases"))
import gallery  # noqa: E402
from variants import VARIANTS

STEPS = 40
# Of the box: 14 GB/s from pinned memory, 2 from ordinary one, a launch of eager code.
KNOBS = {"GPUSIM_H2D_GBS": 14, "GPUSIM_PAGEABLE_GBS": 2, "GPUSIM_LAUNCH_NS": 6000}


def record(variant, folder, batch=32, steps=STEPS):
    """Leaves the trace of a variant in the folder, which is made."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    tags = {"GPUSHIM_TAG": f"variant={VARIANTS[variant][0]}"}
    gallery.trace([FOLDER / "simulated.py", "--variant", str(variant), "--batch", str(batch), "--steps", str(steps)],
                  folder, {**KNOBS, **tags})


def record_all(folder, batch=32, steps=STEPS):
    """Folders `0_baseline` to `7_compiled`, in order."""
    places = [pathlib.Path(folder) / f"{number}_{name}" for number, (name, _) in enumerate(VARIANTS)]
    for number, place in enumerate(places):
        record(number, place, batch, steps)
    return places


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    for place in record_all(sys.argv[1], *map(int, sys.argv[2:])):
        print(place)


if __name__ == "__main__":
    main()
