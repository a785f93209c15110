"""Looking up every name of the driver in all ways: the same answers with and without the shim."""
import sys

from machine import PROGRAMS, Row, demand, same

ORDER, LIMIT_S = 10, 30


def check(machine):
    command = [sys.executable, "-B", PROGRAMS / "lookups.py"]
    without = machine.plain(command).stdout.splitlines()
    under = machine.plain(command, LD_PRELOAD=machine.library).stdout.splitlines()
    # The last column says whose the address is: the driver's or somebody else's.
    answers = [[line.rsplit(" ", 1)[0] for line in lines] for lines in (under, without)]
    differing = [f"{a} | {b}" for a, b in zip(*answers) if a != b]
    demand(len(under) == len(without) and not differing, "answers differ:", *differing[:3])
    yield Row("answers of dlsym and cuGetProcAddress", f"{len(under)} look-ups, the same")
    same([line for line in without if line.endswith(" shim")], [], "addresses of the shim without it")
    swapped = sum(line.endswith(" shim") for line in under)
    demand(swapped > 100, "only", swapped, "addresses are the shim's")
    for name in ("cuLaunchKernel", "cuMemcpyHtoDAsync", "cuStreamSynchronize"):
        ways = {line.split()[0] for line in under if line.split()[1] == name and line.endswith(" shim")}
        demand({"v1", "v2"} <= ways, name, "is the shim's by", sorted(ways) or "no way")
    yield Row("addresses that are the shim's", str(swapped))
