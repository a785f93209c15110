"""A series of trainings, each with one change more, in PyTorch on a GPU and simulated on the box: each run is
held against what it says of itself, and what came of it is told beside what was published.

Another GPU than the published one has other things that are slow: a change that the first finding of the run
before does not name is told, with what it brought, and is not wrong. Wrong is what contradicts itself.
"""
import pathlib
import sys

import machine as m

EXAMPLES = m.ROOT / "examples"
sys.path += [str(EXAMPLES / name) for name in ("cases", "seven_steps", "precision_ladder")]
import gallery  # noqa: E402
import next_change  # noqa: E402
import real  # noqa: E402
import runs_table  # noqa: E402
from contradictions import contradictions, steps_of  # noqa: E402

gallery.BUILD = m.BUILD
SECONDS = 3  # that are counted of each run on a GPU
STEPS = 6    # of one on the box
IS_THERE = "import torch; print('yes' if torch.cuda.is_available() else 'no')"


def check_series(machine, series, changes, options):
    """series: the module of a series; changes: what it is a series of; options: of its script."""
    demand_pytorch(machine)
    runs, ended = [], None
    folder = machine.folder()
    for number in range(len(changes)):
        try:
            runs.append(one_run(machine, series, number, folder, options))
        except (m.OutOfTime, m.Skip) as end:
            ended = end
            break
        yield row_of(series, changes, runs)
    if len(runs) > 1:
        yield summed_up(machine, list(runs_table.answers(runs, changes))[:-1])
    if ended:
        raise ended


def demand_pytorch(machine):
    if machine.simulated:
        return
    there = machine.run([machine.python, "-B", "-c", IS_THERE], {})
    if there.returncode or there.stdout.strip() != "yes":
        raise m.Skip("no PyTorch with CUDA")


def one_run(machine, series, number, folder, options):
    if machine.simulated:
        run = series.run_on_the_box(number, folder, steps=STEPS, knobs={"LD_PRELOAD": machine.library})
    else:
        run = real_run(machine, series, number, folder, options)
    m.demand(run.report, run.name, runs_table.NO_TRACE)
    place = pathlib.Path(folder) / run.name
    found = list(contradictions(run.report, steps_of(place), run.told))
    m.demand(not found, f"{run.name}:", "; ".join(found))
    return run


def real_run(machine, series, number, folder, options):
    def plain(command, _):
        return machine.run(command, {})

    how = {"library": machine.library, "python": machine.python}
    options = ["--seconds", SECONDS, *options]
    try:
        return series.real_run(number, folder, options, run=machine.run, **how)
    except real.Failed as failed:
        try:
            series.real_run(number, pathlib.Path(folder) / "plain", options, run=plain, **how)
        except real.Failed as without:
            raise m.Skip(f"without the shim, too: {last_line(without)}") from without
        raise AssertionError(f"under the shim only: {last_line(failed)}") from failed


def last_line(failed):
    return str(failed).splitlines()[-1]


def row_of(series, changes, runs):
    """Of the last of them."""
    number, run = len(runs) - 1, runs[-1]
    cells = series.cells(number, run, None)
    said = ", ".join(f"{name} {cell}" for name, cell in zip(series.HEADER[1:-1], cells[1:-1]))
    if number:
        *_, answer, _ = runs_table.answers(runs, changes)
        said += f"; before it: {answer.text}"
    first = next_change.findings(run.report)[:1]
    return m.Row(run.name, said, {**run.told, "compute_share": run.report["gpus"][0]["compute_share"],
                                  "first_finding": first[0]["id"] if first else None})


def summed_up(machine, answers):
    missed = [answer.text for answer in answers if answer.is_worth and not answer.is_first]
    # On the box nothing is slow but what was made so.
    m.demand(not machine.simulated or not missed, "of changes on the box:", "; ".join(missed))
    return m.Row("the next change", next_change.summary(answers),
                 {"answers": [answer.text for answer in answers]})
