"""Next to a profiler that the program starts: it counts the same with and without the shim in front."""
from counted import differences, told
from frameworks import counted, without_the_shim
from machine import Row, Skip, demand, same

ORDER, LIMIT_S, TOGETHER = 28, 120, True


def check(machine):
    without_the_shim(machine, "matrices")
    if machine.simulated:
        raise Skip("no CUPTI without a GPU")
    _, alone, _ = counted(machine, "matrices", traced=False)
    _, beside, traces = counted(machine, "matrices")
    if alone is None:
        raise Skip("no profiler")
    said = differences(beside, alone)  # in this order: "us" is under the shim
    demand(not said, "PyTorch's profiler under the shim (us) and without (them):", told(said))
    demand(traces, "no trace")
    same([trace.dropped for trace in traces], [0] * len(traces), "dropped events")
    yield Row("PyTorch's profiler beside the shim", f"{sum(beside.kernels.values())} launches of "
              f"{len(beside.kernels)} kernels, as it counts without the shim; the trace is whole")
