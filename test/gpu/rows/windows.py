"""Operations with device times: the same results, how many waited in their queue and how many did not, and
what was measured about this GPU for that."""
import re
import sys

import nccl_library
from machine import BUILD, TRAIN, Row, Skip, demand, one, same

ORDER, LIMIT_S = 80, 60
OPTIONS = "--steps 20 --loss-every 10".split()
ALL = {"GPUSHIM_BUDGET": "100%"}
PAUSE_NS = 30_000  # far longer than a launch: the queue is empty


def check(machine):
    program = BUILD / "gpu" / "pace"
    if not program.exists():
        raise Skip(f"no {program}")
    yield from calibrated(machine, program)
    command = [sys.executable, "-B", TRAIN / "train.py", "--ranks", "1", *OPTIONS]
    done, traces = machine.same_with_and_without(command, **ALL, **nccl_library.variables(machine))
    trace = one(traces)
    demand(trace.timed > 0, "nothing was timed")
    same(trace.refusals, [], "refusals")
    loss = re.search(r"^loss (0x\S+)", done.stdout, re.MULTILINE)
    demand(loss, "no loss was printed")
    yield Row("the loss with events of ours", f"{loss.group(1)}, the same; {trace.timed:.0f} of "
              f"{trace.operations:.0f} operations timed")


def calibrated(machine, program):
    clock = {}
    for what, *work in (("in a queue", 20_000, 0, "busy__20us"), ("on an empty queue", 50_000, PAUSE_NS)):
        _, traces = machine.traced([program, *work], **ALL, **machine.undisturbed)
        trace = one(traces)
        demand(trace.timed_launches > 0, "no launch was timed")
        queued = trace.queued / trace.timed_launches
        yield Row(f"launches {what}", f"{trace.timed_share:.0%} timed, of them {queued:.1%} queued; "
                  f"estimates within {trace.likely_ns} ns")
        clock.update({name: value for name, value in trace.clock.items() if value is not None})
    demand({"error_ns", "event_ns"} <= clock.keys(), "nothing was measured:", clock)
    yield Row("measured of this GPU", ", ".join(f"{name} {value}" for name, value in sorted(clock.items())))
