"""DataLoader with workers that are forked, then spawned: the same losses, nothing hangs, one trace."""
from losses import command, same_losses, where, without_the_shim
from frameworks import variables
from machine import Row, demand, printed_json, same

ORDER, LIMIT_S, TOGETHER = 27, 150, True


def check(machine):
    without = without_the_shim(machine, "--workers")
    same(without["spawn"], without["fork"], "the same pictures by either")
    done, traces = machine.traced(command(machine, "--workers"), **variables(machine))
    same_losses(machine, printed_json(done), without, "losses", "--workers")
    working = [trace for trace in traces if trace.executed]
    same(len(working), 0 if machine.simulated else 1, "processes with launches")
    for trace in traces:
        demand(trace.dropped == 0, trace.dropped, "events dropped")
    yield Row(where(machine, "DataLoader, forked and spawned"),
              "the same losses; only the parent has launches")
