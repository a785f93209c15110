"""Looking up every name of the driver in all ways: the same answers with and without the shim, and
behind each the same function."""
import sys

from machine import PROGRAMS, Row, demand, same

ORDER, LIMIT_S, TOGETHER = 10, 30, True
DECIDES = True  # all others stand on it


def check(machine):
    command = [sys.executable, "-B", PROGRAMS / "lookups.py"]
    without = machine.plain(command).stdout.splitlines()
    under = machine.plain(command, LD_PRELOAD=machine.library).stdout.splitlines()
    # The last two columns say which export the address is, and whose: the driver's or somebody else's.
    answers = [[line.rsplit(" ", 2)[0] for line in lines] for lines in (under, without)]
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
    yield identity(under, without)


def identity(under, without):
    """What a look-up gives is an export's address or none's, and the same export's under the shim."""
    export = [line.rsplit(" ", 2)[1] for line in without]
    # Exports that share an address in the driver have wrappers of their own.
    first = {line.split()[1]: name for line, name in zip(without, export) if line.startswith("dlsym ")}
    other = [f"{line} | {name}" for line, name in zip(under, export)
             if name != "-" and first.get(line.rsplit(" ", 2)[1]) != name]
    demand(not other, "another function:", *other[:3])
    given = [name for line, name in zip(without, export)
             if not line.startswith("dlsym ") and " True " in line]
    exports = sum(name != "-" for name in given)
    return Row("the function behind each", f"{exports} of {len(given)} addresses of look-ups are exports'; "
               "the same exports' under the shim", {"addresses": len(given), "exports": exports})
