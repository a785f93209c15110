"""The best copy rates that a report names, beside what the program that copies measures by itself, in a run
without the shim."""
import pathlib
import sqlite3
import tempfile

from machine import BUILD, Row, Skip, demand

ORDER, LIMIT_S = 60, 15
# Of what the program measured. Pageable copies go through a buffer of the driver, and the host is part of
# them: on a GPU their rates are told, and held to nothing.
EXACT = 0.05
WITHIN = dict.fromkeys(("h2d_pinned", "d2h_pinned", "d2d_device"), EXACT)
BEST = "SELECT kind, source, target, max(best_bytes_per_s) FROM copy_stat GROUP BY kind, source, target"


def check(machine):
    program = BUILD / "gpu" / "copies"
    if not program.exists():
        raise Skip(f"no {program}")
    with tempfile.TemporaryDirectory(prefix="gpushim-ceilings-") as place:
        folder = pathlib.Path(place)
        words = machine.plain([program], **machine.undisturbed).stdout.split()
        machine.plain([program], LD_PRELOAD=machine.library, GPUSHIM_OUT=folder / "trace.db",
                              GPUSHIM_BUDGET="100%", GPUSHIM_DEVICE_TIME="events", **machine.undisturbed)
        machine.plain([BUILD / "gpushim", "analyze", folder / "trace.db", "-o", folder / "run.db"])
        best = best_seen(folder / "run.db")
    yield compared(dict(zip(words[::2], map(float, words[1::2]))), best, machine.simulated)


def best_seen(run):
    """{h2d_pinned: bytes per second}: of a direction, and of the host's memory where it takes part."""
    base = sqlite3.connect(f"file:{run}?mode=ro", uri=True)
    try:
        return {f"{kind}_{target if kind == 'd2h' else source}": rate
                for kind, source, target, rate in base.execute(BEST)}
    finally:
        base.close()


def compared(measured, best, exact):
    """`exact`: pageable ones, too, as the box knows nothing of buffers."""
    demand(measured, "the program said nothing")
    said = []
    for what, rate in measured.items():
        ours = best.get(what)
        demand(ours is not None, what, "is not among the best rates:", sorted(best))
        said.append(f"{what.replace('_', ' ')} {ours / 1e9:.2f}, measured {rate / 1e9:.2f}")
        share = WITHIN.get(what, EXACT if exact else float("inf"))
        demand(abs(ours - rate) <= share * rate, "best rate in GB/s:", said[-1])
    return Row("best copy rates in GB/s", "; ".join(said), {"measured": measured, "ours": best})
