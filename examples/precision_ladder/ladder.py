#!/usr/bin/env python3
"""Records the four rungs on the simulated box, and says what came of each: ladder.py FOLDER"""
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "cases"))
import gallery  # noqa: E402
from rungs import RUNGS


def record_all(folder):
    """Folders `0_fp32` to `3_channels_last`, in order."""
    places = [pathlib.Path(folder) / f"{number}_{rung.name}" for number, rung in enumerate(RUNGS)]
    for place, rung in zip(places, RUNGS):
        place.mkdir(parents=True)
        program = [FOLDER / "simulated.py", "--rung", rung.name]
        gallery.trace(program, place, {"GPUSHIM_TAG": f"precision={rung.name}"})
    return places


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for place in record_all(sys.argv[1]):
        print(gallery.line_of(place))


if __name__ == "__main__":
    main()
