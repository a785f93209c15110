"""Training in PyTorch with deterministic algorithms: every loss is the same to the bit, whatever the
shim does."""
from frameworks import variables
from machine import PROGRAMS, Row, Skip, demand, printed_json, same

ORDER, LIMIT_S, TOGETHER = 26, 200, True
WAYS = {
    "switched off": {"GPUSHIM_DISABLE": 1},
    "host times only": {"GPUSHIM_DEVICE_TIME": "off"},
    "default budget": {},
    "0.01 %": {"GPUSHIM_BUDGET": "0.01%"},
    "everything timed": {"GPUSHIM_BUDGET": "100%"},
}


def command(machine, *options):
    return [machine.python, "-B", PROGRAMS / "training.py",
            "--device", "cpu" if machine.simulated else "cuda", *options]


def without_the_shim(machine, *options):
    said = printed_json(machine.plain(command(machine, *options), **variables(machine)))
    if "missing" in said:
        raise Skip(said["missing"])
    return said


def same_losses(machine, under, without, what, *options):
    """Wrong where they differ, unless they differ by themselves."""
    if under != without and without_the_shim(machine, *options) != without:
        raise Skip("its losses differ by themselves on this machine")
    same(under, without, what)


def where(machine, what):
    return f"{what}, on the CPU" if machine.simulated else what


def check(machine):
    without, recorded = without_the_shim(machine), []
    demand(len(set(without["losses"])) == len(without["losses"]), "a loss that does not move", without)
    for way, more in WAYS.items():
        done, traces = machine.traced(command(machine), **variables(machine, **more))
        same_losses(machine, printed_json(done), without, f"losses, {way}")
        recorded.append(sum(trace.recorded for trace in traces))
        demand(machine.simulated or way == "switched off" or recorded[-1] > 0, way, "recorded nothing")
    yield Row(where(machine, "losses to the bit"), f"{len(without['losses'])} of them, {', '.join(WAYS)}")
