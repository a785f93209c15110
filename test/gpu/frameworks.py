"""A framework's work, with and without the shim: the same result, and as many launches of each kernel,
copies and bytes of each kind and memsets as PyTorch's profiler has from CUPTI. On the box: the same on
the CPU, where the shim finds no driver and has to be as good as not there.
"""
import os

from counted import Rows, differences, figures, of_kineto, told
from machine import PROGRAMS, Row, Skip, demand, printed_json, same

REPEATABLE = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}  # what PyTorch asks for, or results may differ by a bit


def variables(machine, **more):
    """On the box without its driver: NVIDIA's runtime refuses that."""
    found = {**REPEATABLE, **more}
    if machine.simulated:
        found["LD_LIBRARY_PATH"] = os.environ.get("LD_LIBRARY_PATH", "")
    return found


def command(machine, name):
    return [machine.python, "-B", PROGRAMS / "framework.py", name,
            "--device", "cpu" if machine.simulated else "cuda"]


def without_the_shim(machine, name, **more):
    said = printed_json(machine.plain(command(machine, name), **variables(machine, **more)))
    if "missing" in said:
        raise Skip(said["missing"])
    return said


def counted(machine, name, traced=True, **more):
    """(what it said, what its profiler counted or None, traces)"""
    file = machine.folder() / "kineto.json"
    words = [*command(machine, name), "--count", file]
    if traced:
        done, traces = machine.traced(words, reader=Rows, **variables(machine, **more))
    else:
        done, traces = machine.plain(words, **variables(machine, **more)), []
    said = printed_json(done)
    demand("missing" not in said, "only under the shim:", said.get("missing"))
    return said, of_kineto(file) if said["profiled"] else None, traces


def check_work(machine, name, what, also=None, **more):
    """Yields what is the same of one work; `what`: where its kernels come from; also(trace): one row more."""
    without = without_the_shim(machine, name, **more)
    under, theirs, traces = counted(machine, name, **more)
    if without["repeats"]:
        same(under["result"], without["result"], f"{what}: the result")
    result = "the same result to the bit" if without["repeats"] else "its result differs by itself"
    if machine.simulated:
        demand(all(trace.executed == 0 for trace in traces), "launches without a GPU")
        yield Row(f"{what}, on the CPU", f"{result} with the shim in front and no driver")
        return
    said, ours = judged(under, theirs, traces)
    yield Row(what, f"{said}; {result}", figures(ours))
    if also:
        yield also(largest(traces))


def largest(traces):
    """The program's own, where helpers that it starts left some, too."""
    return max(traces, key=lambda trace: trace.recorded)


def judged(under, theirs, traces):
    """What is the same, in words, and our counts."""
    demand(traces, "no trace")
    for trace in traces:  # helpers that it starts may leave one with nothing in it
        same((trace.dropped, trace.unknown), (0, 0), "dropped and unknown events")
    ours = largest(traces).counts(under["span"])
    for kernel, times in under["known"].items():
        launched = sum(count for name, count in ours.kernels.items() if name.startswith(kernel))
        same(launched, times, f"launches of {kernel}")
    launches, copies = sum(ours.kernels.values()), ours.all_copies()
    seen = f"{launches} launches of {len(ours.kernels)} kernels, {copies[0]} copies of {copies[1]} bytes"
    if theirs is None:
        if not under["known"]:
            raise Skip(f"{seen} by us, and no profiler of PyTorch's here to compare with")
        return f"{seen}; the program's own launches all seen (no profiler here)", ours
    said = differences(ours, theirs)
    demand(not said, told(said))
    demand(launches > 0, "nothing was launched, and CUPTI saw nothing either")
    return f"{seen}, as CUPTI counts", ours
