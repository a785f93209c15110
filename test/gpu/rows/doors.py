"""Nothing hooked twice and nothing passed by: a launch counts once, whichever way its function was found."""
from machine import BUILD, Row, Skip, demand, one, same

ORDER, LIMIT_S, TOGETHER = 13, 30, True
DECIDES = True  # all others stand on it
LEAST = 9  # ways; a driver need not have versions of its names, nor look itself up


def check(machine):
    program = BUILD / "gpu" / "doors"
    if not program.exists():
        raise Skip(f"no {program}")
    done, traces = machine.same_with_and_without([program])
    did = {name: int(times) for name, times in map(str.split, done.stdout.splitlines())}
    demand(len(did) >= LEAST, "only these ways:", *did)
    same(one(traces).kernels, did, "launches by way")
    yield Row("one launch counts once",
              f"by each of {len(did)} ways to cuLaunchKernel, {sum(did.values())} in all")
