"""Time on the host: its own work, waiting, and the clock to measure by.

On a box whose clock is stepped, work that is not a CUDA call takes no time by itself; there the box is told
how long it took. Everywhere else work takes what it takes, and waiting sleeps.
"""
import ctypes
import os
import time


class Host:
    def __init__(self, driver):
        self._advance = self._test_clock = None
        if os.environ.get("GPUSIM_CLOCK") == "stepped":
            self._advance = _optional(driver.handle, "gpusim_advance_ns", [ctypes.c_uint64])
            clocks = [ctypes.POINTER(ctypes.c_uint64)] * 2
            self._test_clock = _optional(driver.handle, "gpushim_test_clock", clocks)
        program = ctypes.CDLL(None)
        self._step = _optional(program, "gpushim_step", [])
        self._begin = _optional(program, "gpushim_range_start", [ctypes.c_char_p], ctypes.c_uint64)
        self._end = _optional(program, "gpushim_range_end", [ctypes.c_uint64])

    def worked(self, duration_us):
        """The caller has just done real work that is worth so much where the clock is stepped."""
        if self._advance:
            self._advance(int(duration_us * 1000))

    def wait(self, duration_ms):
        """Waits, as a slow disk or a slow network would make it wait."""
        if duration_ms and self._advance:
            self._advance(int(duration_ms * 1_000_000))
        elif duration_ms:
            time.sleep(duration_ms / 1000)

    def mark_step(self):
        """Tells a tracer, where there is one, that a step has ended."""
        if self._step:
            self._step()

    def begin_range(self, name):
        """Tells a tracer, where there is one, that something of that name begins; returns what ends it."""
        number = self._begin(name.encode()) if self._begin else 0
        return lambda: self._end(number) if self._end else None

    def now_ns(self):
        if not self._test_clock:
            return time.monotonic_ns()
        monotonic_ns, realtime_ns = ctypes.c_uint64(), ctypes.c_uint64()
        self._test_clock(ctypes.byref(monotonic_ns), ctypes.byref(realtime_ns))
        return monotonic_ns.value


def _optional(library, name, argtypes, restype=None):
    try:
        function = getattr(library, name)
    except AttributeError:
        return None
    function.argtypes, function.restype = argtypes, restype
    return function
