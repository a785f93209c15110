"""Says what came of the runs of a series, in each of which one thing more is changed, beside what was
published of them. A series is a tuple of what has a `name` and a `named_by` (next_change.Change)."""
import sys
from typing import NamedTuple, Optional

import next_change

NO_TRACE = "nothing called a driver, so nothing was recorded"


class Run(NamedTuple):
    """told: what the program says of itself. report: None where nothing was recorded."""

    name: str
    told: dict
    report: Optional[dict]


class Failed(Exception):
    """A program of the series ended with an exit code."""


def kernels_text(report):
    """The share of time in which a kernel runs: what others call utilisation. Copies do not count."""
    share = report["gpus"][0]["compute_share"] if report and report["gpus"] else None
    return "-" if share is None else next_change.percent(share)


def answers(runs, series):
    """Of each run, and None for the last and for those without a report."""
    for run, after, changed in zip(runs, runs[1:], series[1:]):
        gained = after.told["samples_per_s"] / run.told["samples_per_s"] - 1
        yield next_change.answer(run.report, changed.named_by, gained) if run.report else None
    yield None


def first_and_next(run, answer, following):
    """The last cells of a row: what the report says first, and whether that names the next of the series."""
    found = next_change.findings(run.report) if run.report else []
    return (found[0]["id"] if found else "-", f"{following[0].name}: {answer.text}" if answer else "-")


def aligned(rows):
    """Lines, from rows of texts; the first and the last two columns are texts, the others figures."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        cells = [text.rjust(width) for text, width in zip(row, widths)]
        for column in (0, -2, -1):
            cells[column] = row[column].ljust(widths[column])
        yield "  ".join(cells).rstrip()


def table(header, cells, runs, series):
    """Lines, of the runs of the first so many of a series: a row for each, and what it comes to. cells: of
    the number of a run, the run and its answer; header has as many."""
    said = list(answers(runs, series))
    yield from aligned([header, *map(cells, range(len(runs)), runs, said)])
    known = [answer for answer in said if answer]
    yield next_change.summary(known) if known else NO_TRACE


def runs_asked_for(usage, count, run_on_the_box, real_run):
    """The runs of a series, as the command line wants them: FOLDER [NUMBER | --real OPTION...]"""
    folder, *more = sys.argv[1:] or ["-"]
    if folder.startswith("-"):
        sys.exit(usage)
    if more[:1] == ["--real"]:
        try:
            return [real_run(number, folder, more[1:]) for number in range(count)]
        except Failed as failed:
            sys.exit(str(failed))
    if len(more) > 1 or not all(word.isdigit() for word in more):
        sys.exit(usage)
    return [run_on_the_box(number, folder, *map(int, more)) for number in range(count)]
