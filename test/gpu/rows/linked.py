"""A program that is linked against the driver: its launches and copies come through the exported names."""
from machine import BUILD, Row, Skip, one, same

ORDER, LIMIT_S, TOGETHER = 12, 30, True
DECIDES = True  # all others stand on it


def check(machine):
    program = BUILD / "examples" / "linked"
    if not program.exists():
        raise Skip(f"no {program}")
    _, traces = machine.same_with_and_without([program], **machine.undisturbed)
    trace = one(traces)
    same(trace.kernels.get("wait__500us"), 9, "launches")
    size = 4 << 20
    same({kind: trace.copies.get(kind) for kind in ("h2d", "d2d", "d2h")},
         {"h2d": (1, size), "d2d": (1, size), "d2h": (1, size)}, "copies")
    yield Row("a linked program", "9 launches, 3 copies, all seen")
