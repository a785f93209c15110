"""A program of nvcc, with the runtime shared and linked in: it takes its driver from look-ups, and works, so
its check that the driver is NVIDIA's passes with the shim in front."""
import nvcc
from machine import Row, Skip, one, same

ORDER, LIMIT_S, TOGETHER = 14, 90, True
DECIDES = True  # all others stand on it
LAUNCHES = {"first": 300, "second": 70}


def check(machine):
    # NVIDIA's own runtime refuses the box: there the stand-in takes the shared one's place.
    path = {} if machine.simulated else nvcc.libraries()
    for kind in ["shared"] if machine.simulated else ["shared", "static"]:
        with nvcc.compiled(machine, "runtime.cu", "-cudart", kind) as program:
            _, traces = machine.same_with_and_without([program], **path)
        trace = one(traces)
        same({name: trace.kernels.get(name) for name in LAUNCHES}, LAUNCHES, "launches")
        same(trace.copies.get("h2d"), (10, 10 * 4096), "copies to the device")
        same(trace.copies.get("d2h"), (1, 4096), "copies from the device")
        launches = sum(LAUNCHES.values())
        yield Row(f"a program of nvcc, runtime {kind}", f"{launches} launches, 11 copies, all seen")
    yield from entry_points(machine, path)


def entry_points(machine, path):
    """What the runtime hands on when a program asks it for the driver's functions."""
    with nvcc.compiled(machine, "entry_points.cu", "-cudart", "shared") as program:
        without = machine.plain([program], **path)
        off = machine.plain([program], LD_PRELOAD=machine.library, GPUSHIM_DISABLE=1, **path)
        under, _ = machine.traced([program], **path)
    whose = [dict(line.split("=") for line in done.stdout.split()) for done in (without, off, under)]
    names = list(whose[0])
    if not names:
        raise Skip("a runtime that hands out none of the driver's functions")
    for found, library, shim in zip(whose, ("libcuda", "libcuda", "libgpushim"), ("not there", "off", "on")):
        same(found, dict.fromkeys(names, library), f"whose they are, the shim {shim}")
    yield Row("the driver's functions by the runtime", f"{len(names)}: the shim's; switched off, its own")
