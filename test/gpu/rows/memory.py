"""The most device memory that a trace says was held, beside PyTorch's own words and the driver's."""
import pathlib
import sqlite3
import tempfile

from machine import PROGRAMS, Row, Skip, demand, printed_json
from traces import demand_places

ORDER, LIMIT_S = 62, 15
DEVICE = 4  # kind of memory, as in the table `memory`
PEAK = f"SELECT total(peak_bytes) FROM memory_peak WHERE kind = {DEVICE} AND pool_id = 0"
ROUNDING = 2 << 20  # the driver's own unit: what it counts may be so much more than was asked for
MIB = 1 << 20


def check(machine):
    by = "driver" if machine.simulated else "torch"
    with tempfile.TemporaryDirectory(prefix="gpushim-memory-") as folder:
        trace = pathlib.Path(folder) / "trace.db"
        said = printed_json(machine.plain([machine.python, "-B", PROGRAMS / "memory.py", by],
                                          LD_PRELOAD=machine.library, GPUSHIM_OUT=trace))
        if "missing" in said:
            raise Skip(said["missing"])
        ours = peak(trace)
    yield compared(ours, said, "the program" if machine.simulated else "PyTorch")


def peak(trace):
    base = sqlite3.connect(f"file:{trace}?mode=ro", uri=True)
    try:
        demand_places(base)
        return int(base.execute(PEAK).fetchone()[0])
    finally:
        base.close()


def compared(ours, said, whose):
    """We see what is taken from the driver: all that was reserved, and what libraries take by themselves; but
    not the context, which the driver counts as used."""
    more = (ours - said["reserved"]) / MIB
    text = (f"{ours / MIB:.1f} MiB by us; {whose}: {said['allocated'] / MIB:.1f} allocated, "
            f"{said['reserved'] / MIB:.1f} reserved ({more:+.1f}); used by the driver's words "
            f"{said['used'] / MIB:.1f}")
    demand(ours >= said["reserved"], "less than was reserved:", text)
    demand(ours <= said["used"] + ROUNDING, "more than is used:", text)
    return Row("the most memory held", text, {"ours": ours, **said})
