#!/usr/bin/env python3
"""Records one job on 1, 2, 4 and 8 GPUs of the simulated box: record.py FOLDER

Then: gpushim scaling FOLDER/*
"""
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "cases"))
import gallery  # noqa: E402

STEPS = 30
RANKS = (1, 2, 4, 8)


def record(ranks, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    loop = [FOLDER.parent / "cases" / "loop.py", FOLDER, STEPS]
    gallery.trace(loop, folder, {"SCALING_RANKS": ranks, "GPUSIM_DEVICES": ranks})


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for ranks in RANKS:
        record(ranks, pathlib.Path(sys.argv[1]) / f"{ranks}_gpus")


if __name__ == "__main__":
    main()
