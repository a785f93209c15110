"""torch.cuda.graph while everything is timed: captures are not disturbed by events of ours."""
from frameworks import command, variables, without_the_shim
from machine import Row, Skip, demand, one, printed_json, same

ORDER, LIMIT_S, TOGETHER = 18, 120, True


def check(machine):
    without = without_the_shim(machine, "capture")
    if not without["repeats"]:
        raise Skip("its results differ by themselves")
    done, traces = machine.traced(command(machine, "capture"), **variables(machine, GPUSHIM_BUDGET="100%"))
    same(printed_json(done), without, "the results")
    trace = one(traces)
    demand(trace.timed > 0, "nothing was timed")
    same(trace.refusals, [], "refusals")
    yield Row("torch.cuda.graph inside a window",
              f"the same results; {trace.timed:.0f} of {trace.operations:.0f} timed")
