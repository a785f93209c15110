"""A program that chooses by what it measures, as autotuners do: does it choose the same under the shim, with
everything timed?"""
from machine import BUILD, Row, Skip, demand, one, same

ORDER, LIMIT_S = 32, 10
TIMES = 5


def chosen(done):
    return done.stdout.split()


def check(machine):
    program = BUILD / "gpu" / "chooses"
    if not program.exists():
        raise Skip(f"no {program}")
    untimed = 0
    for _ in range(TIMES):
        without = chosen(machine.plain([program], **machine.undisturbed))
        demand(without and len(set(without)) == 1, "chooses by itself now this, now that:", without)
        done, traces = machine.traced([program], GPUSHIM_BUDGET="100%", **machine.undisturbed)
        same(chosen(done), without, "choices")
        trace = one(traces)
        untimed += sum(trace.kernels.values()) - trace.timed_launches
    demand(untimed > 0, "everything was timed: was it not seen that the program measures?")
    yield Row("choices of a program that measures",
              f"{TIMES} of {TIMES} the same; {untimed} launches left alone")
