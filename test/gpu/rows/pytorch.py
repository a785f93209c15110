"""PyTorch training steps: the same loss, with events of ours, too, and as many launches as PyTorch's own
profiler counts; torch.cuda.graph while a window is open."""
import sys

from machine import PROGRAMS, Row, Skip, demand, one, printed_json, same

ORDER, LIMIT_S = 21, 90


def check(machine):
    if machine.simulated:
        raise Skip("PyTorch's runtime refuses a simulated driver")
    program = [sys.executable, "-B", PROGRAMS / "pytorch.py"]
    if machine.plain([*program, "there"]).stdout.strip() != "yes":
        raise Skip("no PyTorch with CUDA")
    done, traces = machine.same_with_and_without([*program, "train"])
    trace = one(traces)
    demand(sum(trace.kernels.values()) > 100, "launches:", trace.kernels)
    yield Row("the loss of PyTorch", f"{done.stdout.strip()}, the same without the shim")
    done, traces = machine.traced([*program, "profile"])
    counted, trace = printed_json(done), one(traces)
    launched = sum(trace.calls.get(name, 0) for name in trace.calls if name.startswith("cuLaunchKernel"))
    same(launched, counted["launches"], "launches, by its profiler and by us")
    yield Row("launches of PyTorch", f"{launched}, as its own profiler counts")
    yield from in_windows(machine, program)


def in_windows(machine, program):
    for mode, what in (("train", "the loss of PyTorch with events of ours"),
                       ("graph", "torch.cuda.graph inside a window")):
        done, traces = machine.same_with_and_without([*program, mode], GPUSHIM_BUDGET="100%")
        trace = one(traces)
        demand(trace.timed > 0, "nothing was timed")
        same(trace.refusals, [], "refusals")
        yield Row(what, f"{done.stdout.strip()}, the same; {trace.timed:.0f} of {trace.operations:.0f} timed")
