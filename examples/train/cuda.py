"""The CUDA driver API as this example uses it, and the few objects that make it readable.

The names in the table are the exported ones, so they carry the _v2 that cuda.h hides behind a macro.
"""
import ctypes
from array import array
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p

from binding import Library

_HANDLE, _OUT_HANDLE, _POINTER = c_void_p, POINTER(c_void_p), c_uint64

_FUNCTIONS = {
    "cuInit": [c_uint],
    "cuDeviceGetCount": [POINTER(c_int)],
    "cuDeviceGet": [POINTER(c_int), c_int],
    "cuDeviceGetName": [c_char_p, c_int, c_int],
    "cuDevicePrimaryCtxRetain": [_OUT_HANDLE, c_int],
    "cuDevicePrimaryCtxRelease_v2": [c_int],
    "cuCtxSetCurrent": [_HANDLE],
    "cuCtxSynchronize": [],
    "cuModuleLoadData": [_OUT_HANDLE, c_char_p],
    "cuModuleUnload": [_HANDLE],
    "cuModuleGetFunction": [_OUT_HANDLE, _HANDLE, c_char_p],
    "cuLaunchKernel": [_HANDLE] + [c_uint] * 7 + [_HANDLE, POINTER(c_void_p), POINTER(c_void_p)],
    "cuMemAlloc_v2": [POINTER(_POINTER), c_size_t],
    "cuMemFree_v2": [_POINTER],
    "cuMemHostAlloc": [_OUT_HANDLE, c_size_t, c_uint],
    "cuMemFreeHost": [c_void_p],
    "cuMemcpyHtoDAsync_v2": [_POINTER, c_void_p, c_size_t, _HANDLE],
    "cuMemcpyDtoHAsync_v2": [c_void_p, _POINTER, c_size_t, _HANDLE],
    "cuMemcpyDtoDAsync_v2": [_POINTER, _POINTER, c_size_t, _HANDLE],
    "cuMemsetD32Async": [_POINTER, c_uint, c_size_t, _HANDLE],
    "cuStreamCreate": [_OUT_HANDLE, c_uint],
    "cuStreamSynchronize": [_HANDLE],
    "cuStreamWaitEvent": [_HANDLE, _HANDLE, c_uint],
    "cuStreamDestroy_v2": [_HANDLE],
    "cuStreamBeginCapture_v2": [_HANDLE, c_int],
    "cuStreamEndCapture": [_HANDLE, _OUT_HANDLE],
    "cuGraphInstantiateWithFlags": [_OUT_HANDLE, _HANDLE, c_uint64],
    "cuGraphLaunch": [_HANDLE, _HANDLE],
    "cuGraphExecDestroy": [_HANDLE],
    "cuGraphDestroy": [_HANDLE],
    "cuEventCreate": [_OUT_HANDLE, c_uint],
    "cuEventRecord": [_HANDLE, _HANDLE],
    "cuEventSynchronize": [_HANDLE],
    "cuEventDestroy_v2": [_HANDLE],
    "cuGetErrorName": [c_int, POINTER(c_char_p)],
}

_STREAM_NON_BLOCKING = 1
_EVENT_DISABLE_TIMING = 2
_CAPTURE_THREAD_LOCAL = 1
FLOAT_BYTES = 4


class Driver(Library):
    def __init__(self):
        super().__init__("libcuda.so.1", _FUNCTIONS)

    def describe(self, code):
        name = c_char_p()
        # Not through the checked binding: an unknown code would make the error's own look-up fail.
        self.handle["cuGetErrorName"](code, byref(name))
        return f"{name.value.decode()} ({code})" if name.value else str(code)

    def device_count(self):
        self.cuInit(0)
        count = c_int()
        self.cuDeviceGetCount(byref(count))
        return count.value


class HostBuffer:
    """Floats in host memory, pinned by the driver or ordinary (pageable)."""

    def __init__(self, driver, count, pageable=False):
        self._driver, self._pinned = driver, None
        if pageable:
            floats = (c_float * count)()
        else:
            self._pinned = c_void_p()
            driver.cuMemHostAlloc(byref(self._pinned), max(1, count) * FLOAT_BYTES, 0)
            floats = (c_float * count).from_address(self._pinned.value)
        self.address = ctypes.addressof(floats)
        self.floats = memoryview(floats).cast("B").cast("f")
        self._floats = floats  # the pageable memory lives as long as this object

    def free(self):
        if self._pinned:
            self._driver.cuMemFreeHost(self._pinned)


class Device:
    """One GPU's primary context, current on the calling thread, and all that was made in it."""

    def __init__(self, driver, ordinal):
        self.driver = driver
        self._device, context = c_int(), c_void_p()
        driver.cuDeviceGet(byref(self._device), ordinal)
        driver.cuDevicePrimaryCtxRetain(byref(context), self._device)
        driver.cuCtxSetCurrent(context)
        self._cleanup = []

    def name(self):
        text = ctypes.create_string_buffer(256)
        self.driver.cuDeviceGetName(text, len(text), self._device)
        return text.value.decode()

    def _make(self, create, destroy, *arguments):
        handle = c_void_p()
        create(byref(handle), *arguments)
        self._cleanup.append(lambda: destroy(handle))
        return handle

    def stream(self):
        return self._make(self.driver.cuStreamCreate, self.driver.cuStreamDestroy_v2, _STREAM_NON_BLOCKING)

    def event(self):
        return self._make(self.driver.cuEventCreate, self.driver.cuEventDestroy_v2, _EVENT_DISABLE_TIMING)

    def module(self, ptx):
        return self._make(self.driver.cuModuleLoadData, self.driver.cuModuleUnload, ptx.encode())

    def graph(self, stream, launch):
        """What `launch` submits to the stream, as one executable graph; nothing of it runs."""
        driver, captured = self.driver, c_void_p()
        driver.cuStreamBeginCapture_v2(stream, _CAPTURE_THREAD_LOCAL)
        launch()
        driver.cuStreamEndCapture(stream, byref(captured))
        executable = self._make(driver.cuGraphInstantiateWithFlags, driver.cuGraphExecDestroy, captured, 0)
        driver.cuGraphDestroy(captured)
        return executable

    def launch_graph(self, executable, stream):
        self.driver.cuGraphLaunch(executable, stream)

    def floats(self, count):
        pointer = c_uint64()
        self.driver.cuMemAlloc_v2(byref(pointer), max(1, count) * FLOAT_BYTES)
        self._cleanup.append(lambda: self.driver.cuMemFree_v2(pointer))
        return pointer.value

    def host_floats(self, count, pageable=False):
        buffer = HostBuffer(self.driver, count, pageable)
        self._cleanup.append(buffer.free)
        return buffer

    def upload(self, pointer, buffer, stream, first=0, count=None):
        count = len(buffer.floats) if count is None else count
        source = buffer.address + first * FLOAT_BYTES
        self.driver.cuMemcpyHtoDAsync_v2(pointer, source, count * FLOAT_BYTES, stream)

    def download(self, buffer, pointer, stream, first=0, count=None):
        count = len(buffer.floats) if count is None else count
        target = buffer.address + first * FLOAT_BYTES
        self.driver.cuMemcpyDtoHAsync_v2(target, pointer, count * FLOAT_BYTES, stream)

    def fill(self, pointer, value, count, stream):
        bits = int.from_bytes(array("f", [value]).tobytes(), "little")
        self.driver.cuMemsetD32Async(pointer, bits, count, stream)

    def close(self):
        """Gives everything back, newest first; nothing may still be running."""
        while self._cleanup:
            self._cleanup.pop()()
        self.driver.cuDevicePrimaryCtxRelease_v2(self._device)
