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
        demand(trace.measured > 0, "it was not seen that the program measures")
        untimed += trace.measured
    done, traces = machine.traced([program], GPUSHIM_BUDGET="100%", GPUSHIM_DEVICE_TIME="events",
                                  **machine.undisturbed)
    otherwise = sum(ours != theirs for ours, theirs in zip(chosen(done), without))
    demand(one(traces).timed_launches > 0, "with GPUSHIM_DEVICE_TIME=events nothing was timed")
    yield Row("choices of a program that measures",
              f"{TIMES} of {TIMES} the same, {untimed} launches left alone; with our events among its own"
              f" {otherwise} of {len(without)} choices are others")
