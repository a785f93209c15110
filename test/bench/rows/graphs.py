"""What it costs the program's thread that a graph of 2,000 nodes is looked at when it is made executable or
updated: its processor time with the shim, less that without, by processes that take turns on the simulated
box, whose questions take 0.2 us each. The fastest of a process counts, as for a launch, and of these the
median: of a graph that was captured, and of a copy, whose nodes have to be asked for."""
import statistics
import tempfile

from measure import BOX, QUICK, SHIM, Figure, in_turns, run

PROGRAM = "graph_cost"
NODES = 2000
ROUNDS = 5 if QUICK else 20
TURNS = 1 if QUICK else 9
BUDGET_US = 50
CALLS = {"instantiate": "made executable", "update": "updated"}


def traced(*how):
    with tempfile.TemporaryDirectory(prefix="gpushim-bench-") as folder:
        return run(PROGRAM, NODES, ROUNDS, *how, driver=BOX, preload=SHIM, out=folder)


def measure():
    found = in_turns(TURNS, {
        "plain": lambda: run(PROGRAM, NODES, ROUNDS, driver=BOX),
        "captured": traced,
        "plain copy": lambda: run(PROGRAM, NODES, ROUNDS, "cloned", driver=BOX),
        "copy": lambda: traced("cloned")})

    def fastest(way, what):
        return statistics.median(turn[f"{what}_min_ns"] for turn in found[way])

    def middle(way, what):
        return statistics.median(turn[f"{what}_median_ns"] for turn in found[way])

    for way, plain in (("captured", "plain"), ("copy", "plain copy")):
        for call, words in CALLS.items():
            yield Figure(f"{way} graph of {NODES:,}: {words}",
                         (fastest(way, call) - fastest(plain, call)) / 1e3, "us",
                         at_most=BUDGET_US if way == "captured" else None,
                         why=f"{fastest(way, call) / 1e3:.0f} us with, "
                             f"{fastest(plain, call) / 1e3:.0f} without; "
                             f"medians {middle(way, call) / 1e3:.0f}, {middle(plain, call) / 1e3:.0f}")
    yield Figure("an operation captured",
                 (fastest("captured", "capture") - fastest("plain", "capture")) / NODES, "ns",
                 why=f"{fastest('captured', 'capture') / NODES:.0f} ns with")
