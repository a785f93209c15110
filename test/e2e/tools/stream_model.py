"""Random programs of streams, events and copies, played on the box in stepped time, and a model of their
times written from the documentation alone: both must come to the same.

    stream_model.py SEED    plays one and prints, for each step, what it answered and the time after it
"""
import ctypes
import json
import random
import sys
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p

LAUNCH_NS, LATENCY_NS, EVENT_NS, EVENT_LATENCY_NS, CALL_NS = 4000, 8000, 1500, 2500, 200
PINNED_GBS, DEVICE_GBS = 25, 2000
NOT_READY = 600
DEVICES, EVENTS, STEPS = 2, 5, 120
STREAMS = 5  # the legacy one, two blocking ones, the thread's own (blocking, too), a non-blocking one
LEGACY, PER_THREAD, NON_BLOCKING = 0, 3, 4
BUFFER_BYTES = 1 << 20
SIZES = (1, 5, 20, 80)  # microseconds of a kernel, 10,000 bytes of a copy
GRAPH_US = (5, 20)  # its kernels, one after the other

KINDS = {"kernel": 8, "h2d": 3, "d2h": 2, "d2d": 2, "h2d_now": 1, "memset": 2, "record": 5, "wait": 5,
         "query": 3, "query_event": 3, "sync": 1, "sync_event": 1, "sync_all": 1, "elapsed": 3, "work": 3,
         "other_device": 2, "graph": 3}


def program(seed):
    """[(kind, stream, event, size)]: what these mean depends on the kind."""
    dice = random.Random(seed)
    kinds = dice.choices(list(KINDS), list(KINDS.values()), k=STEPS)
    return [(kind, dice.randrange(STREAMS), dice.randrange(EVENTS), dice.choice(SIZES)) for kind in kinds]


class Model:
    """Every stream has an end; an operation starts after what its stream has to wait for."""

    def __init__(self, now_ns):
        self.now_ns = now_ns
        self.device = 0
        self.ends = [[0] * STREAMS for _ in range(DEVICES)]
        self.events = [[None] * EVENTS for _ in range(DEVICES)]
        self.graph_ends = [0] * DEVICES
        self.operations = []  # (device, op, start, end, bytes, enter, exit)

    def before(self, stream):
        ends = self.ends[self.device]
        if stream == LEGACY:
            return max(ends[:NON_BLOCKING])
        return ends[stream] if stream == NON_BLOCKING else max(ends[stream], ends[LEGACY])

    def all_of(self, stream):
        """When the stream is idle."""
        return self.before(LEGACY) if stream == LEGACY else self.ends[self.device][stream]

    def issue(self, op, stream, duration_ns, latency_ns, size_bytes, cost_ns, blocks=False):
        enter_ns = self.now_ns
        start_ns = max(enter_ns + latency_ns, self.before(stream))
        end_ns = self.ends[self.device][stream] = start_ns + duration_ns
        self.now_ns = max(enter_ns + cost_ns, end_ns if blocks else 0)
        self.operations.append((self.device, op, start_ns, end_ns, size_bytes, enter_ns, self.now_ns))
        return end_ns

    def pause(self, until_ns=0):
        self.now_ns = max(self.now_ns + CALL_NS, until_ns)
        return 0

    def ready(self, end_ns):
        over = self.now_ns >= (end_ns or 0)
        self.now_ns += CALL_NS
        return 0 if over else NOT_READY

    def kernel(self, stream, _event, size):
        self.issue("kernel", stream, size * 1000, LATENCY_NS, 0, LAUNCH_NS)
        return 0

    def copy(self, op, stream, size, gbs, blocks=False):
        size_bytes = size * 10_000
        self.issue(op, stream, size_bytes // gbs, LATENCY_NS, size_bytes, LAUNCH_NS, blocks)
        return 0

    def h2d(self, stream, _event, size):
        return self.copy("h2d", stream, size, PINNED_GBS)

    def d2h(self, stream, _event, size):
        return self.copy("d2h", stream, size, PINNED_GBS)

    def d2d(self, stream, _event, size):
        return self.copy("d2d", stream, size, DEVICE_GBS)

    def h2d_now(self, _stream, _event, size):
        return self.copy("h2d", LEGACY, size, PINNED_GBS, blocks=True)

    def memset(self, stream, _event, size):
        return self.copy("memset", stream, size, DEVICE_GBS)

    def record(self, stream, event, _size):
        end_ns = self.issue("event", stream, EVENT_LATENCY_NS, 0, 0, EVENT_NS)
        self.events[self.device][event] = end_ns
        return 0

    def wait(self, stream, event, _size):
        """For an event of the other device, too: its number says which."""
        recorded_ns = self.events[event % DEVICES][event]
        self.ends[self.device][stream] = max(self.before(stream), recorded_ns or 0)
        return self.pause()

    def query(self, stream, _event, _size):
        return self.ready(self.all_of(stream))

    def query_event(self, _stream, event, _size):
        return self.ready(self.events[self.device][event])

    def sync(self, stream, _event, _size):
        return self.pause(self.all_of(stream))

    def sync_event(self, _stream, event, _size):
        return self.pause(self.events[self.device][event] or 0)

    def sync_all(self, _stream, _event, _size):
        return self.pause(max(self.ends[self.device]))

    def elapsed(self, _stream, event, _size):
        pair = self.events[self.device][0], self.events[self.device][event]
        asked_ns = self.now_ns
        self.now_ns += CALL_NS
        if None in pair:
            return 400
        return NOT_READY if asked_ns < max(pair) else pair[1] - pair[0]

    def graph(self, stream, _event, _size):
        """Launches of one executable graph do not overlap."""
        enter_ns = self.now_ns
        self.now_ns += LAUNCH_NS
        end_ns = max(enter_ns + LATENCY_NS, self.before(stream), self.graph_ends[self.device])
        for us in GRAPH_US:
            start_ns, end_ns = end_ns, end_ns + us * 1000
            self.operations.append((self.device, "kernel", start_ns, end_ns, 0, enter_ns, self.now_ns))
        self.graph_ends[self.device] = self.ends[self.device][stream] = end_ns
        return 0

    def work(self, _stream, _event, size):
        self.now_ns += size * 1000
        return 0

    def other_device(self, _stream, _event, _size):
        self.device = 1 - self.device
        return self.pause()


def expected(seed, now_ns):
    """What `play` prints, and the operations that the truth file holds."""
    model = Model(now_ns)
    answers = []
    for kind, stream, event, size in program(seed):
        answers.append([getattr(model, kind)(stream, event, size), model.now_ns])
    return answers, model.operations


class Box:
    """The same steps by calls of the driver."""

    def __init__(self):
        self.cuda, self.engine = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libgpusim.so")
        self.call("cuInit", c_uint(0))
        made = [self.make_device(device) for device in range(DEVICES)]
        self.contexts, self.functions, self.streams, self.events, self.memory, self.graphs = zip(*made)
        self.device = 0
        self.call("cuCtxSetCurrent", self.contexts[0])

    def call(self, name, *arguments):
        return getattr(self.cuda, name)(*arguments)

    def made(self, name, *arguments, kind=c_void_p, out=0):
        """What the call leaves in its first (or last) argument."""
        handle = kind()
        arguments = (byref(handle), *arguments) if out == 0 else (*arguments, byref(handle))
        if self.call(name, *arguments) != 0:
            raise SystemExit(f"{name} failed")
        return handle

    def make_device(self, device):
        context = self.made("cuDevicePrimaryCtxRetain", c_int(device))
        self.call("cuCtxSetCurrent", context)
        module = self.made("cuModuleLoadData", c_char_p(b"any image"))
        functions = {us: self.made("cuModuleGetFunction", module, c_char_p(f"step__{us}us".encode()))
                     for us in SIZES}
        created = [self.made("cuStreamCreate", c_uint(flags)) for flags in (0, 0, 1)]
        streams = [c_void_p(None), *created[:2], c_void_p(2), created[2]]
        events = [self.made("cuEventCreate", c_uint(0)) for _ in range(EVENTS)]
        memory = [self.made("cuMemAlloc_v2", c_size_t(BUFFER_BYTES), kind=c_uint64) for _ in range(2)]
        memory.append(self.made("cuMemHostAlloc", c_size_t(BUFFER_BYTES), c_uint(0)))
        return context, functions, streams, events, memory, self.make_graph(functions, created[2])

    def make_graph(self, functions, stream):
        self.call("cuStreamBeginCapture_v2", stream, c_int(0))
        for us in GRAPH_US:
            self.launch(functions[us], stream)
        graph = self.made("cuStreamEndCapture", stream, out=-1)
        return self.made("cuGraphInstantiateWithFlags", graph, c_uint64(0))

    def launch(self, function, stream):
        return self.call("cuLaunchKernel", function, *[c_uint(1)] * 6, c_uint(0), stream, None, None)

    def now_ns(self):
        mono_ns, real_ns = c_uint64(), c_uint64()
        self.engine.gpushim_test_clock(byref(mono_ns), byref(real_ns))
        return mono_ns.value

    def step(self, kind, stream, event, size):
        on, size_bytes = self.streams[self.device][stream], c_size_t(size * 10_000)
        source, target, host = self.memory[self.device]
        marked = self.events[self.device][event]
        if kind == "other_device":
            self.device = 1 - self.device
            return self.call("cuCtxSetCurrent", self.contexts[self.device])
        if kind == "work":
            self.engine.gpusim_advance_ns(c_uint64(size * 1000))
            return 0
        if kind == "elapsed":
            between_ms = c_float()
            first = self.events[self.device][0]
            result = self.call("cuEventElapsedTime_v2", byref(between_ms), first, marked)
            return result or round(between_ms.value * 1e6)
        if kind == "kernel":
            return self.launch(self.functions[self.device][size], on)
        if kind == "graph":
            return self.call("cuGraphLaunch", self.graphs[self.device], on)
        name, *arguments = {
            "h2d": ("cuMemcpyHtoDAsync_v2", source, host, size_bytes, on),
            "d2h": ("cuMemcpyDtoHAsync_v2", host, source, size_bytes, on),
            "d2d": ("cuMemcpyDtoDAsync_v2", target, source, size_bytes, on),
            "h2d_now": ("cuMemcpyHtoD_v2", source, host, size_bytes),
            "memset": ("cuMemsetD8Async", target, ctypes.c_ubyte(7), size_bytes, on),
            "record": ("cuEventRecord", marked, on),
            "wait": ("cuStreamWaitEvent", on, self.events[event % DEVICES][event], c_uint(0)),
            "query": ("cuStreamQuery", on),
            "query_event": ("cuEventQuery", marked),
            "sync": ("cuStreamSynchronize", on),
            "sync_event": ("cuEventSynchronize", marked),
            "sync_all": ("cuCtxSynchronize",)}[kind]
        return self.call(name, *arguments)


def play(seed):
    box = Box()
    begun_ns = box.now_ns()
    answers = [[box.step(*step), box.now_ns()] for step in program(seed)]
    print(json.dumps({"begun_ns": begun_ns, "answers": answers}))


if __name__ == "__main__":
    play(int(sys.argv[1]))
