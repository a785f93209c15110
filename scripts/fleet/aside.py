"""Partitions that are about to be replaced are put aside, and put back unless all that replaces them could be
written: a reading that fails, or is killed, leaves the tables as they were. Nothing here knows Spark."""
import contextlib
import os
import pathlib
import shutil

FOLDER, OLD = ".aside", ".old"
BEGUN = "begun"  # the file in FOLDER that names the runs of which new partitions may be there


def partitions(out, runs):
    """What these runs have, of whatever day: a run's day may change, and it may have no rows of a table."""
    for run in runs:
        yield from pathlib.Path(out).glob(f"table=*/day=*/run={run}")


def kept(aside):
    """Partitions, and tables that have none."""
    yield from list(aside.glob("table=*/day=*/run=*"))
    yield from {file.parent for file in aside.glob("table=*/*.parquet")}


def move(place, start, end):
    there = end / place.relative_to(start)
    there.parent.mkdir(parents=True, exist_ok=True)
    if there.exists():
        shutil.rmtree(there)
    os.rename(place, there)


def put_back(out):
    """What a reading had put aside that did not reach its end. New partitions go before the first old one is
    back, and the list of them goes in between, so this can be stopped, too, and done again."""
    out, aside = pathlib.Path(out), pathlib.Path(out, FOLDER)
    shutil.rmtree(out / OLD, ignore_errors=True)
    begun = aside / BEGUN
    if begun.exists():
        for place in list(partitions(out, begun.read_text(encoding="utf-8").splitlines())):
            shutil.rmtree(place)
        begun.unlink()
    for place in kept(aside):
        move(place, aside, out)
    shutil.rmtree(aside, ignore_errors=True)


@contextlib.contextmanager
def replaced(out, runs, *tables):
    """The partitions of these runs, and all of these tables, are written in this `with`."""
    out, aside = pathlib.Path(out), pathlib.Path(out, FOLDER)
    try:
        aside.mkdir()
        whole = [out / f"table={table}" for table in tables]
        for place in [*partitions(out, runs), *filter(pathlib.Path.exists, whole)]:
            move(place, out, aside)
        (aside / BEGUN).write_text("".join(f"{run}\n" for run in sorted(runs)), encoding="utf-8")
        yield
        os.rename(aside, out / OLD)  # from here on the new ones count
    except BaseException:
        put_back(out)
        raise
    shutil.rmtree(out / OLD)
