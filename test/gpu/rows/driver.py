"""A program on the driver API, found by dlsym: launches per kernel, copies and bytes, memsets, waits."""
import sys

from machine import PROGRAMS, Row, one, printed_json, same

ORDER, LIMIT_S, TOGETHER = 11, 30, True
DECIDES = True  # all others stand on it


def check(machine):
    done, traces = machine.same_with_and_without([sys.executable, "-B", PROGRAMS / "driver.py"])
    did, trace = printed_json(done), one(traces)
    same({name: trace.kernels.get(name, 0) for name in did["kernels"]}, did["kernels"], "launches")
    launches = sum(did["kernels"].values())
    yield Row("launches per kernel", f"{launches} of {len(did['kernels'])} kernels, all seen")
    copies = {kind: list(trace.copies.get(kind, (0, 0))) for kind in did["copies"]}
    same(copies, did["copies"], "copies")
    yield Row("copies and bytes per kind", ", ".join(f"{kind} {count} with {size} bytes"
                                                     for kind, (count, size) in sorted(copies.items())))
    same(list(trace.memsets), did["memsets"], "memsets")
    same({name: trace.calls.get(name, 0) for name in did["calls"]}, did["calls"], "waits and events")
    yield Row("memsets, waits, events", "all seen")
