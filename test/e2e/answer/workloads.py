"""Training loops with one thing wrong each, on the driver API in stepped time.

    workloads.py NAME STEPS

In each step a batch of 4 MB is copied (160 us at 25 GB/s), ten layers of 100 us run, an optimizer's kernel,
and the host waits for the end; without what is wrong, the GPU is idle only for a launch's latency. What each
adds to a step, and which cause that is, stands in test_answer.py.
"""
import ctypes
import os
import sys
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p

cuda = ctypes.CDLL("libcuda.so.1")
box = ctypes.CDLL("libgpusim.so")
try:
    mark = ctypes.CDLL(None).gpushim_step
except AttributeError:  # nobody is looking
    mark = None
MS, US = 1_000_000, 1_000
BATCH = 4_000_000
WRONG_NS = 3 * MS
NON_BLOCKING = 1


def call(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    if code:
        sys.exit(f"{name}: {code}")


class Gpu:
    def __init__(self, ordinal):
        self.ordinal, self.context, self.module = ordinal, c_void_p(), c_void_p()
        call("cuDevicePrimaryCtxRetain", byref(self.context), ordinal)
        self.use()
        call("cuModuleLoadData", byref(self.module), b"made up")
        self.stream = self.make_stream()
        self.functions = {}
        self.memory = c_uint64()
        call("cuMemAlloc_v2", byref(self.memory), c_size_t(64 * BATCH))
        self.pinned = c_void_p()
        call("cuMemHostAlloc", byref(self.pinned), c_size_t(BATCH), 0)
        self.pageable = ctypes.create_string_buffer(BATCH)

    def use(self):
        call("cuCtxSetCurrent", self.context)

    def make_stream(self):
        stream = c_void_p()
        call("cuStreamCreate", byref(stream), NON_BLOCKING)
        return stream

    def launch(self, name, stream=None, blocks=108):
        if name not in self.functions:
            self.functions[name] = c_void_p()
            call("cuModuleGetFunction", byref(self.functions[name]), self.module, c_char_p(name.encode()))
        call("cuLaunchKernel", self.functions[name], blocks, 1, 1, 256, 1, 1, 0, stream or self.stream, None,
             None)

    def copy_in(self, size=BATCH, source=None, stream=None):
        call("cuMemcpyHtoDAsync_v2", self.memory, source or self.pinned, c_size_t(size),
             stream or self.stream)

    def wait(self, stream=None):
        call("cuStreamSynchronize", stream or self.stream)

    def layers(self, count=10):
        for layer in range(count):
            self.launch(f"layer_{layer}__100us")


def step(gpu, before=None, between=None):
    """before: the input copy; between: before the optimizer, when the GPU has nothing to do."""
    if before:
        before()
    gpu.copy_in()
    gpu.layers()
    if between:
        gpu.wait()
        between()
    gpu.launch("adam_update__50us")
    gpu.wait()


def healthy(gpus, _):
    step(gpus[0])


def input_cpu(gpus, _):
    step(gpus[0], before=lambda: box.gpusim_advance_ns(c_uint64(WRONG_NS)))


def input_wait(gpus, _):
    step(gpus[0], before=lambda: box.gpusim_block_ns(c_uint64(WRONG_NS)))


def host_cpu(gpus, _):
    step(gpus[0], between=lambda: box.gpusim_advance_ns(c_uint64(WRONG_NS)))


def host_blocked(gpus, _):
    step(gpus[0], between=lambda: box.gpusim_block_ns(c_uint64(WRONG_NS)))


def launch_bound(gpus, _):
    gpus[0].copy_in()
    for number in range(200):
        gpus[0].launch(f"tiny_{number % 8}__2us")
    gpus[0].launch("adam_update__50us")
    gpus[0].wait()


def launching_other_gpu(gpus, _):
    def others():
        gpus[1].use()
        for number in range(750):
            gpus[1].launch(f"other_{number % 8}__2us")
        gpus[0].use()
    step(gpus[0], between=others)


def sync(gpus, _):
    def other():
        gpus[1].use()
        gpus[1].launch(f"other__{WRONG_NS}ns")
        gpus[1].wait()
        gpus[0].use()
    step(gpus[0], between=other)


def copy_staging(gpus, _):
    def other():
        gpus[1].use()
        for _ in range(4):
            gpus[1].copy_in(source=gpus[1].pageable)
        gpus[0].use()
    step(gpus[0], between=other)


def alloc_or_load(gpus, _):
    def allocate():
        memory = c_uint64()
        for _ in range(1000):
            call("cuMemAlloc_v2", byref(memory), c_size_t(4096))
            call("cuMemFree_v2", memory)
    step(gpus[0], between=allocate)


def wait_other_gpu(gpus, made):
    def other():
        gpus[1].use()
        gpus[1].launch(f"other__{WRONG_NS}ns")
        call("cuEventRecord", made["event"], gpus[1].stream)
        gpus[0].use()
        call("cuStreamWaitEvent", gpus[0].stream, made["event"], 0)
    step(gpus[0], between=other)


CALLBACK = ctypes.CFUNCTYPE(None, c_void_p)


@CALLBACK
def _work_in_callback(_):
    box.gpusim_advance_ns(c_uint64(WRONG_NS))


def wait_host_callback(gpus, _):
    step(gpus[0], between=lambda: call("cuLaunchHostFunc", gpus[0].stream, _work_in_callback, None))


def graph(gpus, made):
    if "exec" not in made:
        made["exec"], captured = c_void_p(), c_void_p()
        call("cuStreamBeginCapture_v2", gpus[0].stream, 0)
        for node in range(100):
            gpus[0].launch(f"node_{node % 4}__10us")
        call("cuStreamEndCapture", gpus[0].stream, byref(captured))
        call("cuGraphInstantiateWithFlags", byref(made["exec"]), captured, c_uint64(0))
    call("cuGraphLaunch", made["exec"], gpus[0].stream)
    gpus[0].wait()


def main():
    name, steps = sys.argv[1], int(sys.argv[2])
    call("cuInit", 0)
    count = c_int()
    call("cuDeviceGetCount", byref(count))
    gpus = [Gpu(ordinal) for ordinal in range(count.value)]
    made = {"event": c_void_p()}
    if len(gpus) > 1:
        gpus[1].use()
        call("cuEventCreate", byref(made["event"]), c_uint(2))
    gpus[0].use()
    work = globals()[name]
    for _ in range(steps):
        if mark and not os.environ.get("NO_MARKS"):
            mark()
        work(gpus, made)
    if mark and not os.environ.get("NO_MARKS"):
        mark()
    for gpu in gpus:
        gpu.use()
        call("cuCtxSynchronize")


if __name__ == "__main__":
    main()
