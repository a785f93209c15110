"""How often each kernel ran and what was copied and set: as a trace has it, and as somebody else counted it
(PyTorch's profiler, which asks CUPTI; on the box the truth). Pure but for reading files.

Of a graph that was made ready while the profiler looked, CUPTI tells copies as kernels of the driver's
(shim/harvest/copy_kernels.def). They count as the copies that they are; their bytes are what their threads
can carry, of which the last block may need only a part.
"""
import collections
import ctypes
import ctypes.util
import json
import math
import re

from machine import ROOT
from traces import Trace

COPY_KERNELS = {name: int(size) for name, size in re.findall(
    r'^COPY_KERNEL\("(\w+)", (\d+)\)', (ROOT / "shim/harvest/copy_kernels.def").read_text("utf-8"), re.M)}
MOST_TOLD = 4  # differences: which they are matters, not all of them


class Counts:
    def __init__(self):
        self.kernels = collections.Counter()  # by demangled name
        self.copies = {}                      # by kind, as [how many, bytes]
        self.copies_by_kernels = [0, 0]       # their bytes: at most
        self.bytes_not_copied = 0             # of these: at most
        self.memsets = [0, 0]
        self.copies_in_graphs = [0, 0]        # a trace knows no kinds of these
        self.memsets_in_graphs = 0            # nor bytes of these
        self.unknown = 0                      # launches of graphs whose contents were not recorded

    def kernel(self, name, times=1):
        self.kernels[demangled(name)] += times

    def copy(self, kind, size, times=1):
        _add(self.copies.setdefault(kind, [0, 0]), times, size)

    def copy_kernel(self, thread_bytes, blocks, threads):
        _add(self.copies_by_kernels, 1, blocks * threads * thread_bytes)
        self.bytes_not_copied += threads * thread_bytes - 1

    def memset(self, size, times=1):
        _add(self.memsets, times, size)

    def all_copies(self):
        every = [*self.copies.values(), self.copies_in_graphs, self.copies_by_kernels]
        return [sum(count for count, _ in every), sum(size for _, size in every)]


def _add(pair, count, size):
    pair[0] += count
    pair[1] += size


def demangled(name, _known={}):  # the dictionary stays, on purpose
    """As both sides' names read when they are the same. CUPTI gives some mangled, some not."""
    if not name.startswith("_Z"):
        return name
    if name not in _known:
        _known[name] = _demangle(name)
    return _known[name]


def _demangle(name):
    library, status = ctypes.CDLL("libstdc++.so.6"), ctypes.c_int()
    library.__cxa_demangle.restype = ctypes.c_void_p
    text = library.__cxa_demangle(name.encode(), None, None, ctypes.byref(status))
    if not text:
        return name
    try:
        return ctypes.string_at(text).decode()
    finally:
        free = ctypes.CDLL(None).free
        free.argtypes = [ctypes.c_void_p]
        free(text)


class Rows(Trace):
    """A trace with its single operations, for a span of its time."""

    def _read(self, rows):
        ran = "captured = 0 AND failed = 0 AND unfinished = 0"
        self.launches = rows(f"SELECT enter_ns, coalesce(symbol, kernel) FROM v_launch WHERE {ran}")
        self.copied = rows(f"SELECT enter_ns, kind, bytes FROM v_copy WHERE {ran}")
        self.set = rows(f"SELECT enter_ns, bytes FROM v_memset WHERE {ran}")
        self.graphs = rows("SELECT enter_ns, kernels, copies, bytes, memsets FROM v_graph_launch "
                           f"WHERE {ran}")
        self.graph_kernels = rows(
            "SELECT l.enter_ns, coalesce(h.symbol, h.name, '(name not known)'), k.count FROM graph_launch l "
            "JOIN graph_kernel k ON k.graph_id = l.graph_id LEFT JOIN v_handle h ON h.id = k.handle_id "
            "WHERE l.flags & 7 = 0")

    def counts(self, span):
        counts, first_ns, last_ns = Counts(), *span
        within = lambda rows: (row[1:] for row in rows if first_ns <= row[0] <= last_ns)  # noqa: E731
        for name, in within(self.launches):
            counts.kernel(name or "(name not known)")
        for kind, size in within(self.copied):
            counts.copy(kind, size or 0)
        for size, in within(self.set):
            counts.memset(size or 0)
        for name, times in within(self.graph_kernels):
            counts.kernel(name, times)
        for kernels, copies, size, memsets in within(self.graphs):
            counts.unknown += kernels is None
            _add(counts.copies_in_graphs, copies or 0, size or 0)
            counts.memsets_in_graphs += memsets or 0
        return counts


def of_kineto(path):
    """What PyTorch's profiler counted, from the file that it writes."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    counts = Counts()
    for event in events:
        arguments = event.get("args", {})
        size = int(arguments.get("bytes", 0))
        if event.get("cat") == "kernel" and event["name"] in COPY_KERNELS:
            counts.copy_kernel(COPY_KERNELS[event["name"]], math.prod(arguments["grid"]),
                               math.prod(arguments["block"]))
        elif event.get("cat") == "kernel":
            counts.kernel(event["name"])
        elif event.get("cat") == "gpu_memcpy":
            kind = re.match(r"Memcpy (\w)to(\w)", event["name"])
            counts.copy("2".join(kind.groups()).lower() if kind else event["name"], size)
        elif event.get("cat") == "gpu_memset":
            counts.memset(size)
    return counts


def of_truth(path, span):
    """What really ran on the box."""
    counts, first_ns, last_ns = Counts(), *span
    for line in open(path, encoding="utf-8"):
        kind, _, _, _, _, size, name, enter_ns, _ = line.rstrip("\n").split("\t")
        if not first_ns <= int(enter_ns) <= last_ns:
            continue
        if kind == "kernel":
            counts.kernel(name)
        elif kind in ("h2d", "d2h", "d2d", "p2p", "h2h"):
            counts.copy(kind, int(size))
        elif kind == "memset":
            counts.memset(int(size))
    return counts


def differences(ours, theirs):
    """One line for each thing that is not the same, with both numbers."""
    said = []
    if ours.unknown:
        said.append(f"{ours.unknown} launches of graphs whose contents were not recorded")
    for name in sorted({*ours.kernels, *theirs.kernels}, key=lambda name: (-theirs.kernels[name], name)):
        if ours.kernels[name] != theirs.kernels[name]:
            said.append(f"kernel {_short(name)}: {ours.kernels[name]} by us, {theirs.kernels[name]} by them")
    if ours.copies_in_graphs[0] or theirs.copies_by_kernels[0]:
        copies = {"all copies": (ours.all_copies(), _without_unused(theirs, ours.all_copies()[1]))}
    else:
        none = [0, 0]
        copies = {kind: (ours.copies.get(kind, none), theirs.copies.get(kind, none))
                  for kind in sorted({*ours.copies, *theirs.copies})}
    said += [f"{kind}: {us} by us, {them} by them (copies, bytes)" for kind, (us, them) in copies.items()
             if us != them]
    us, them = ours.memsets, theirs.memsets
    if ours.memsets_in_graphs:
        us, them = [us[0] + ours.memsets_in_graphs], them[:1]
    if us != them:
        said.append(f"memsets: {us} by us, {them} by them (how many, bytes)")
    return said


def _without_unused(theirs, size):
    """All copies; `size` for their bytes, where what their kernels may have left out explains the rest."""
    count, most = theirs.all_copies()
    return [count, min(max(size, most - theirs.bytes_not_copied), most)]


def told(said):
    more = f"; and {len(said) - MOST_TOLD} more" if len(said) > MOST_TOLD else ""
    return "; ".join(said[:MOST_TOLD]) + more


def _short(name):
    return name if len(name) <= 90 else f"{name[:60]}…{name[-28:]}"


def figures(counts):
    return {"launches": sum(counts.kernels.values()), "kernels": len(counts.kernels), "copies": counts.copies,
            "memsets": counts.memsets, "copies_in_graphs": counts.copies_in_graphs,
            "copies_by_kernels": counts.copies_by_kernels,
            "memsets_in_graphs": counts.memsets_in_graphs}
