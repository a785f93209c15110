#!/usr/bin/env python3
"""Re-issues a recorded Kineto trace on the simulated box: the same calls at the same times, on the same
streams, and operations that run when and for as long as the recorded ones did. README.md says what for.

    scripts/with-sim build/gpushim run --budget 100% -- python3 examples/replay/replay.py TRACE.json.gz
"""
import argparse
import ctypes
import os
import pathlib
import sys
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / "train")]

import recording  # noqa: E402
from binding import ApiError, Library  # noqa: E402

CALL_NS = 1000  # what every call takes here, and what passes from a launch to the earliest start
LEAD_NS = 5_000_000  # before the first call, so that a recorder has begun
# The recorded times hold all that a machine adds, so the box adds nothing.
KNOBS = {"GPUSIM_CLOCK": "stepped", "GPUSIM_LAUNCH_NS": str(CALL_NS), "GPUSIM_LATENCY_NS": str(CALL_NS),
         "GPUSIM_CALL_NS": "0", "GPUSIM_EVENT_NS": "0", "GPUSIM_EVENT_LATENCY_NS": "0",
         **{f"GPUSIM_{kind}_GBS": "1000000" for kind in ("H2D", "D2H", "PAGEABLE", "D2D", "P2P")}}
FUNCTIONS = {
    "cuInit": [c_uint], "cuDeviceGet": [POINTER(c_int), c_int],
    "cuDevicePrimaryCtxRetain": [POINTER(c_void_p), c_int], "cuCtxSetCurrent": [c_void_p],
    "cuCtxSynchronize": [], "cuModuleLoadData": [POINTER(c_void_p), c_char_p],
    "cuModuleGetFunction": [POINTER(c_void_p), c_void_p, c_char_p],
    "cuLaunchKernel": [c_void_p] + [c_uint] * 7 + [c_void_p, c_void_p, c_void_p],
    "cuLaunchHostFunc": [c_void_p, c_void_p, c_void_p], "cuStreamCreate": [POINTER(c_void_p), c_uint],
    "cuMemAlloc_v2": [POINTER(c_uint64), c_size_t], "cuMemHostAlloc": [POINTER(c_void_p), c_size_t, c_uint],
    "cuMemcpyHtoDAsync_v2": [c_uint64, c_void_p, c_size_t, c_void_p],
    "cuMemcpyDtoHAsync_v2": [c_void_p, c_uint64, c_size_t, c_void_p],
    "cuMemcpyDtoDAsync_v2": [c_uint64, c_uint64, c_size_t, c_void_p],
    "cuMemsetD8Async": [c_uint64, c_uint, c_size_t, c_void_p],
}
IMAGE = b"every name in it is a kernel"
NON_BLOCKING = 1
MOST_BYTES = 256 << 20  # of one copy: more takes memory and says nothing new


class Stream:
    def __init__(self, driver):
        self.handle, self.free_ns = c_void_p(), 0
        driver.cuStreamCreate(byref(self.handle), NON_BLOCKING)


class Device:
    """A device's context with its streams and, for all copies together, one buffer on each side."""

    def __init__(self, driver, ordinal, size):
        self.driver, self.streams, self.functions = driver, {}, {}
        self.context, self.module, device = c_void_p(), c_void_p(), c_int()
        self.near, self.far = c_uint64(), c_void_p()
        driver.cuDeviceGet(byref(device), ordinal)
        driver.cuDevicePrimaryCtxRetain(byref(self.context), device)
        self.use()
        driver.cuModuleLoadData(byref(self.module), IMAGE)
        driver.cuMemAlloc_v2(byref(self.near), 2 * size)
        driver.cuMemHostAlloc(byref(self.far), size, 0)
        self.size = size

    def use(self):
        self.driver.cuCtxSetCurrent(self.context)

    def stream(self, number):
        if number not in self.streams:
            self.streams[number] = Stream(self.driver)
        return self.streams[number]

    def kernel(self, name, length_ns):
        full = f"{name}__{length_ns}ns".encode()
        if full not in self.functions:
            self.functions[full] = c_void_p()
            self.driver.cuModuleGetFunction(byref(self.functions[full]), self.module, full)
        return self.functions[full]

    def move(self, op, stream):
        """The copy or memset itself. It takes no time: what it took is a kernel behind it."""
        size = min(op.size or 0, MOST_BYTES)
        if size == 0:
            return
        if op.kind == "memset":
            self.driver.cuMemsetD8Async(self.near, 0, size, stream)
        elif "HtoD" in op.name:
            self.driver.cuMemcpyHtoDAsync_v2(self.near, self.far, size, stream)
        elif "DtoH" in op.name:
            self.driver.cuMemcpyDtoHAsync_v2(self.far, self.near, size, stream)
        else:
            self.driver.cuMemcpyDtoDAsync_v2(self.near.value + self.size, self.near, size, stream)


class Replay:
    def __init__(self, recorded):
        for name, value in KNOBS.items():
            os.environ.setdefault(name, value)
        ordinals = sorted({op.device for op in recorded.operations})
        os.environ.setdefault("GPUSIM_DEVICES", str(max(1, len(ordinals))))
        self.driver = Library("libcuda.so.1", FUNCTIONS)
        try:
            self.box = ctypes.CDLL("libgpusim.so")
        except OSError as error:
            raise ApiError(f"not on the simulated box ({error}): start it by scripts/with-sim")
        self.box.gpusim_advance_ns.argtypes = [c_uint64]
        self.wait = ctypes.cast(self.box.gpusim_advance_ns, c_void_p)
        self.recorded, self.program = recorded, ctypes.CDLL(None)
        self.driver.cuInit(0)
        size = max([1] + [min(op.size or 0, MOST_BYTES) for op in recorded.operations])
        self.devices = {device: Device(self.driver, i, size) for i, device in enumerate(ordinals)}
        for op in recorded.operations:  # before time counts
            device = self.devices[op.device]
            device.use()
            device.stream(op.stream)
            device.kernel(op.name, max(1, op.end - op.start))
        self.zero_ns = 0
        self.zero_ns = self.now_ns() + LEAD_NS

    def now_ns(self):
        mono, real = c_uint64(), c_uint64()
        self.box.gpushim_test_clock(byref(mono), byref(real))
        return mono.value - self.zero_ns

    def until(self, at_ns):
        self.box.gpusim_advance_ns(max(0, at_ns - self.now_ns()))

    def mark(self, name):
        """A step begins; only a recorder is told."""
        if hasattr(self.program, "gpushim_mark"):
            self.program.gpushim_mark(name.encode())
            self.program.gpushim_step()

    def issue(self, op):
        device = self.devices[op.device]
        device.use()
        stream = device.stream(op.stream)
        self.until(op.launch - (0 if op.has_call else CALL_NS))
        may_start_ns = max(self.now_ns() + CALL_NS, stream.free_ns)
        if op.start > may_start_ns:  # why is not recorded: something that it waited for
            self.driver.cuLaunchHostFunc(stream.handle, self.wait, op.start - may_start_ns)
        if op.kind != "kernel":
            device.move(op, stream.handle)
        length_ns = max(1, op.end - op.start)
        self.driver.cuLaunchKernel(device.kernel(op.name, length_ns), 1, 1, 1, 1, 1, 1, 0, stream.handle,
                                   None, None)
        stream.free_ns = max(op.start, may_start_ns) + length_ns

    def run(self):
        steps = list(reversed(self.recorded.steps))
        for op in self.recorded.operations:
            while steps and steps[-1][0] <= op.launch:
                begin, name = steps.pop()
                self.until(begin)
                self.mark(name)
            self.issue(op)
        for device in self.devices.values():
            device.use()
            self.driver.cuCtxSynchronize()


def main():
    parser = argparse.ArgumentParser(description="Re-issue a recorded Kineto trace on the simulated box.")
    parser.add_argument("trace", metavar="TRACE.json.gz", type=pathlib.Path)
    recorded = recording.read(parser.parse_args().trace)
    Replay(recorded).run()
    print(f"{len(recorded.operations)} operations, {len(recorded.steps)} steps")


if __name__ == "__main__":
    try:
        main()
    except (ApiError, OSError, KeyError, ValueError) as problem:
        sys.exit(f"replay.py: {problem!r}" if isinstance(problem, KeyError) else f"replay.py: {problem}")
