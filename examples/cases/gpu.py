"""GPUs as a training loop sees them: the driver API, and the host's time on the simulated box.

A kernel takes the time that its name says (`…__100us`), and its name is what the analysis knows of it, so
loops here use names as libraries have them. Host work is `advance` (it runs) and `block` (it waits). Lengths
in ns.
"""
import ctypes
import sys
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p

cuda = ctypes.CDLL("libcuda.so.1")
box = ctypes.CDLL("libgpusim.so")
MS, US, MB = 1_000_000, 1_000, 1_000_000
NON_BLOCKING = 1
NO_TIMING = 2
HALF_GEMM = "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_tn"  # on tensor cores
FULL_GRID = 1056  # blocks: eight for each multiprocessor of the box's GPUs


def call(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    if code:
        sys.exit(f"{name}: {code}")


def advance(length_ns):
    box.gpusim_advance_ns(c_uint64(int(length_ns)))


def block(length_ns):
    box.gpusim_block_ns(c_uint64(int(length_ns)))


def mark(samples=0):
    """A step begins; without the preload nobody is told."""
    program = ctypes.CDLL(None)
    if hasattr(program, "gpushim_step"):
        program.gpushim_step_n(c_uint64(samples)) if samples else program.gpushim_step()


def open_gpus(batch_bytes=400_000, only=None, host_bytes=16 * MB):
    """All of the box, or that one; the first is the current one."""
    call("cuInit", 0)
    count = c_int()
    call("cuDeviceGetCount", byref(count))
    ordinals = range(count.value) if only is None else [only]
    gpus = [Gpu(ordinal, batch_bytes, host_bytes) for ordinal in ordinals]
    gpus[0].use()
    return gpus


class Gpu:
    def __init__(self, ordinal, batch_bytes, host_bytes):
        self.ordinal, self.batch_bytes = ordinal, batch_bytes
        self.context, self.module, self.functions = c_void_p(), c_void_p(), {}
        call("cuDevicePrimaryCtxRetain", byref(self.context), ordinal)
        self.use()
        call("cuModuleLoadData", byref(self.module), b"made up")
        self.stream = self.make_stream()
        self.memory = self.allocate(max(256 * MB, host_bytes))
        self.pinned = c_void_p()
        call("cuMemHostAlloc", byref(self.pinned), c_size_t(host_bytes), 0)
        self.pageable = ctypes.create_string_buffer(host_bytes)

    def use(self):
        call("cuCtxSetCurrent", self.context)

    def allocate(self, size):
        memory = c_uint64()
        call("cuMemAlloc_v2", byref(memory), c_size_t(int(size)))
        return memory

    def make_stream(self):
        stream = c_void_p()
        call("cuStreamCreate", byref(stream), NON_BLOCKING)
        return stream

    def make_event(self):
        event = c_void_p()
        call("cuEventCreate", byref(event), c_uint(NO_TIMING))
        return event

    def launch(self, name, stream=None, blocks=FULL_GRID):
        if name not in self.functions:
            self.functions[name] = c_void_p()
            call("cuModuleGetFunction", byref(self.functions[name]), self.module, c_char_p(name.encode()))
        call("cuLaunchKernel", self.functions[name], blocks, 1, 1, 256, 1, 1, 0, stream or self.stream, None,
             None)

    def copy_in(self, size=None, source=None, stream=None):
        call("cuMemcpyHtoDAsync_v2", self.memory, source or self.pinned, c_size_t(size or self.batch_bytes),
             stream or self.stream)

    def copy_out(self, size, target=None, stream=None):
        call("cuMemcpyDtoHAsync_v2", target or self.pinned, self.memory, c_size_t(size),
             stream or self.stream)

    def copy_within(self, size, stream=None):
        target = c_uint64(self.memory.value + size)
        call("cuMemcpyDtoDAsync_v2", target, self.memory, c_size_t(size), stream or self.stream)

    def copy_from(self, other, size, stream=None):
        call("cuMemcpyPeerAsync", self.memory, self.context, other.memory, other.context, c_size_t(size),
             stream or self.stream)

    def clear(self, size, stream=None):
        call("cuMemsetD8Async", self.memory, 0, c_size_t(size), stream or self.stream)

    def record(self, event, stream=None):
        call("cuEventRecord", event, stream or self.stream)

    def wait_for(self, event, stream=None):
        """The stream waits, not the host."""
        call("cuStreamWaitEvent", stream or self.stream, event, 0)

    def wait_on_host(self, event):
        call("cuEventSynchronize", event)

    def wait(self, stream=None):
        call("cuStreamSynchronize", stream or self.stream)

    def captured(self, submit):
        """What it submits to the stream as a graph; nothing of it runs."""
        graph = c_void_p()
        call("cuStreamBeginCapture_v2", self.stream, 1)
        submit()
        call("cuStreamEndCapture", self.stream, byref(graph))
        return graph

    def capture(self, submit):
        """The same, executable."""
        executable = c_void_p()
        call("cuGraphInstantiateWithFlags", byref(executable), self.captured(submit), c_uint64(0))
        return executable

    def update_graph(self, executable, graph):
        call("cuGraphExecUpdate_v2", executable, graph, ctypes.create_string_buffer(64))

    def launch_graph(self, executable):
        call("cuGraphLaunch", executable, self.stream)

    def layers(self, count=10, length_us=100):
        for layer in range(count):
            self.launch(f"{HALF_GEMM}_{layer}__{length_us}us")

    def update(self):
        self.launch("adam_update__50us")


def train_step(gpu, before=None, between=None):
    """A step in which nothing is wrong but what is asked for. before: the input copy; between: before the
    optimizer, when the GPU has nothing to do."""
    if before:
        before()
    gpu.copy_in()
    gpu.layers()
    if between:
        gpu.wait()
        between()
    gpu.update()
    gpu.wait()
