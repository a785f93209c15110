"""GPUSHIM_DEVICE_TIME=cupti: every node of a graph has its times, as many as there were and as PyTorch's
profiler counts in another run; and who else wants CUPTI is not disturbed, before us or after."""
import collections
import pathlib
import sys

import operations
from counted import Counts, demangled, differences, of_kineto, told
from frameworks import command, counted, largest, variables, without_the_shim
from machine import PROGRAMS, Row, Skip, demand, printed_json, same
from traces import Trace

ORDER, LIMIT_S, TOGETHER = 20, 150, True
CUPTI = {"GPUSHIM_DEVICE_TIME": "cupti"}
NOT_PERMITTED, TAKEN = 35, 39  # CUptiResult
MOSTLY = 0.95                  # of the launches have their nodes
STEPS = 50
OPENING_S = 3  # CUPTI is opened beside the program, after its context; on the box it is no work


class Timed(Trace):
    """What CUPTI timed, by call."""

    def __init__(self, path):
        self.source = operations.cupti_source(path)
        super().__init__(path)

    def _read(self, rows):
        self.levels = sorted(level for level, in rows("SELECT DISTINCT level FROM level_error"))
        self.graph_launches = [enter for enter, in rows(
            "SELECT enter_ns FROM graph_launch WHERE flags & 7 = 0")]
        self.nodes = rows("SELECT launch_ns, coalesce(kernel, kind), kind FROM v_graph_node")
        self.launches = rows("SELECT enter_ns, coalesce(symbol, kernel) FROM v_launch JOIN launch_device "
                             "USING (enter_ns)")
        self.copied = rows("SELECT enter_ns, bytes FROM copy JOIN copy_device USING (enter_ns)")
        self.set = rows("SELECT enter_ns, bytes FROM memset JOIN memset_device USING (enter_ns)")

    def counts(self, span):
        """Of what has times: as a profiler would count it, but for bytes: CUPTI's times know none."""
        counts = Counts()
        within = lambda rows: (row[1:] for row in rows if span[0] <= row[0] <= span[1])  # noqa: E731
        for name, in within(self.launches):
            counts.kernel(name or "(name not known)")
        for name, kind in within(self.nodes):
            if kind == "kernel":
                counts.kernel(name)
            elif kind == "copy":
                counts.copy("any", 0)
            else:
                counts.memset(0)
        for _ in within(self.copied):
            counts.copy("any", 0)
        for _ in within(self.set):
            counts.memset(0)
        return counts


def check(machine):
    ended = None
    try:
        yield driver_graphs(machine)
    except Skip as reason:  # PyTorch brings a CUPTI of its own along
        ended = reason
    yield from others_on_the_box(machine) if machine.simulated else beside_pytorch(machine)
    if ended:
        raise ended


def beside_pytorch(machine):
    without = without_the_shim(machine, "graphs")
    yield frameworks_graphs(machine)
    yield profiler_after(machine, without)
    yield profiler_before(machine)


def program(machine, *words):
    seconds = 0.3 if machine.simulated else OPENING_S
    return [sys.executable, "-B", PROGRAMS / "graphs_driver.py", seconds, *words]


def is_on(source):
    if source.error == NOT_PERMITTED or source.refused and source.error is None:
        raise Skip(source.why)  # not there, or of a version that nobody knows
    demand(source.refused is None, "CUPTI was not to be had:", source.refused and source.why)


def packages(machine):
    """The interpreter's own CUPTI, for a program that has no package around it."""
    asks = "import nvidia; print(*nvidia.__path__, sep=chr(10))"
    done = machine.run([machine.python, "-c", asks], {})
    places = [pathlib.Path(line, "cu13") for line in done.stdout.splitlines()]
    homes = [place for place in places if (place / "lib").is_dir()]
    return {"CUDA_HOME": homes[0]} if homes else {}


def driver_graphs(machine):
    """Known numbers: no profiler is needed."""
    without = machine.plain(program(machine))
    done, traces = machine.traced(program(machine), reader=Timed, **CUPTI, **packages(machine))
    same(done.stdout, without.stdout, "what it prints")
    trace, said = largest(traces), printed_json(done)
    is_on(trace.source)
    by_launch = collections.defaultdict(collections.Counter)
    for launch, name, _ in trace.nodes:
        by_launch[launch][demangled(name)] += 1
    same(len(trace.graph_launches), said["launches"], "launches of the graph")
    wrong = [dict(nodes) for nodes in by_launch.values() if nodes != said["nodes"]]
    demand(not wrong, len(wrong), "launches whose nodes are others:", wrong[:1], "expected", said["nodes"])
    text = (f"{len(by_launch)} of {len(trace.graph_launches)} launches have times of all "
            f"{sum(said['nodes'].values())} nodes")
    demand(len(by_launch) >= MOSTLY * len(trace.graph_launches), text)
    return Row("nodes of a graph by CUPTI", text, {"nodes": len(trace.nodes)})


def frameworks_graphs(machine):
    """The same work in two processes: of one the profiler's counts, of the other ours."""
    _, theirs, _ = counted(machine, "graphs", traced=False)
    if theirs is None:
        raise Skip("no profiler")
    words = [*command(machine, "graphs"), "--span", OPENING_S]
    done, traces = machine.traced(words, reader=Timed, **variables(machine, **CUPTI))
    trace = largest(traces)
    is_on(trace.source)
    ours = trace.counts(printed_json(done)["span"])
    said = differences(ours, without_bytes(theirs))
    demand(not said, "by CUPTI (us) and by the profiler in another run (them):", told(said))
    nodes = collections.Counter(kind for *_, kind in trace.nodes)
    return Row("torch.cuda.graph by CUPTI", f"{sum(ours.kernels.values())} kernels with times, "
               f"{ours.all_copies()[0]} copies, {ours.memsets[0]} memsets, as the profiler counts; in graphs "
               + ", ".join(f"{count} {kind}" for kind, count in sorted(nodes.items())))


def without_bytes(theirs):
    counts = Counts()
    counts.kernels = theirs.kernels
    if theirs.all_copies()[0]:
        counts.copy("any", 0, theirs.all_copies()[0])  # those by kernels of the driver's, too
    counts.memset(0, theirs.memsets[0])
    return counts


def profiler_after(machine, without):
    """It comes too late: it may count nothing, and nothing else changes."""
    file = machine.folder() / "kineto.json"
    done, traces = machine.traced([*command(machine, "graphs"), "--count", file], reader=Timed,
                                  **variables(machine, **CUPTI))
    seen = of_kineto(file)
    if without["repeats"]:
        same(printed_json(done)["result"], without["result"], "the result, with a profiler after us")
    is_on(largest(traces).source)
    return Row("a profiler started after us", f"ends with 0; it counts {sum(seen.kernels.values())} kernels, "
               f"ours: {', '.join(largest(traces).levels)}")


def profiler_before(machine):
    """It is there first and keeps what it has: it counts what it counts without us."""
    files = [machine.folder() / f"{which}.json" for which in ("alone", "beside")]
    words = [[machine.python, "-B", PROGRAMS / "loops.py", "queued", "--steps", STEPS, "--profile", file]
             for file in files]
    machine.plain(words[0], **variables(machine))
    _, traces = machine.traced(words[1], reader=Timed, **variables(machine, **CUPTI))
    alone, beside = map(of_kineto, files)
    said = differences(beside, alone)
    demand(not said, "the profiler under the shim (us) and without (them):", told(said))
    return kept_by_others("a profiler started before us", largest(traces))


def kept_by_others(what, trace):
    demand(trace.source.refused, "another had CUPTI, and the trace does not say so")
    same(trace.levels, ["events"], "levels")
    return Row(what, f"it keeps CUPTI: {trace.source.why}; our times are by events")


def others_on_the_box(machine):
    for when in ("before", "after"):
        words = program(machine, "--subscribe", when)
        alone = machine.plain(words)
        done, traces = machine.traced(words, reader=Timed, GPUSHIM_BUDGET="100%", **CUPTI)
        same(done.stdout, alone.stdout, f"what it prints, {when}")
        same((alone.stderr, done.stderr.splitlines()[0 if when == "before" else -1]),
             ("0\n", "0" if when == "before" else str(TAKEN)), f"what the other is answered, {when}")
        if when == "before":
            yield kept_by_others("who has CUPTI before us", traces[0])
        else:
            same(traces[0].levels, ["cupti"], "levels")
            yield Row("who asks for CUPTI after us", f"is told {TAKEN}; ends as without")
