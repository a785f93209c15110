"""Kernels that take time and do nothing else, as PTX text.

Each waits on the GPU's nanosecond timer for as long as its parameter says. The name says the same thing
(`gemm_fwd__200us`), so that a simulated GPU, which runs no PTX, takes the same time for it.
"""
import ctypes
from ctypes import byref, c_uint64, c_void_p

_HEAD = ".version 6.0\n.target sm_50\n.address_size 64\n"

_KERNEL = """
.visible .entry {name}(.param .u64 wait_ns)
{{
    .reg .pred %again;
    .reg .b64 %begin, %now, %want;
    ld.param.u64 %want, [wait_ns];
    mov.u64 %begin, %globaltimer;
spin:
    mov.u64 %now, %globaltimer;
    sub.u64 %now, %now, %begin;
    setp.lt.u64 %again, %now, %want;
    @%again bra spin;
    ret;
}}
"""

# Few enough blocks to be resident at once on any GPU beside the communication library's own: blocks that had
# to queue would make the kernel last a multiple of the time it was told.
_GRID, _BLOCK = 1024, 256


def ptx(durations_us):
    """The text of a module with one kernel per name; `durations_us` maps a plain name to its microseconds."""
    return _HEAD + "".join(_KERNEL.format(name=_full_name(*item)) for item in durations_us.items())


def _full_name(name, duration_us):
    return f"{name}__{duration_us}us"


class Kernels:
    """The kernels of one module, launched by their plain names."""

    def __init__(self, device, durations_us):
        self._launch = device.driver.cuLaunchKernel
        module = device.module(ptx(durations_us))
        self._ready = {name: self._prepare(device.driver, module, name, duration_us)
                       for name, duration_us in durations_us.items()}

    @staticmethod
    def _prepare(driver, module, name, duration_us):
        function, wait_ns = c_void_p(), c_uint64(duration_us * 1000)
        driver.cuModuleGetFunction(byref(function), module, _full_name(name, duration_us).encode())
        parameters = (c_void_p * 1)(ctypes.addressof(wait_ns))
        return function, parameters, wait_ns  # wait_ns is what `parameters` points to: it must stay alive

    def launch(self, name, stream):
        function, parameters, _ = self._ready[name]
        self._launch(function, _GRID, 1, 1, _BLOCK, 1, 1, 0, stream, parameters, None)
