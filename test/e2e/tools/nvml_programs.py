"""Programs that test_nvml.py runs on the box, by name; each prints what it has seen as one line of JSON.

    python3 nvml_programs.py identities
"""
import ctypes
import importlib
import json
import os
import sys

SECOND_NS = 1_000_000_000
PTX = b""".version 8.0
.target sm_90
.address_size 64
.visible .entry busy__%dns()
{
    ret;
}
"""


class Nvml:
    """The library itself, by ctypes: self.nvmlX(...) raises unless it succeeds."""

    class Memory(ctypes.Structure):
        _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]

    class Process(ctypes.Structure):
        _fields_ = [("pid", ctypes.c_uint), ("bytes", ctypes.c_ulonglong), ("gi", ctypes.c_uint),
                    ("ci", ctypes.c_uint)]

    class Rates(ctypes.Structure):
        _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]

    def __init__(self):
        self.library = ctypes.CDLL("libnvidia-ml.so.1")
        self.nvmlInit_v2()

    def __getattr__(self, name):
        def call(*arguments):
            result = getattr(self.library, name)(*arguments)
            if result != 0:
                raise OSError(f"{name}: {result}")
        return call

    def device(self, index):
        handle = ctypes.c_void_p()
        self.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle))
        return handle

    def text(self, name, index):
        out = ctypes.create_string_buffer(96)
        getattr(self, name)(self.device(index), out, len(out))
        return out.value.decode()

    def memory_used(self, index):
        memory = self.Memory()
        self.nvmlDeviceGetMemoryInfo(self.device(index), ctypes.byref(memory))
        return memory.used

    def processes(self, index):
        count = ctypes.c_uint(64)
        found = (self.Process * count.value)()
        self.nvmlDeviceGetComputeRunningProcesses_v3(self.device(index), ctypes.byref(count), found)
        return {found[i].pid: found[i].bytes for i in range(count.value)}

    def rates(self, index):
        rates = self.Rates()
        self.nvmlDeviceGetUtilizationRates(self.device(index), ctypes.byref(rates))
        return rates.gpu, rates.memory


class Cuda:
    """One context on device `index`; self.cuX(...) raises unless it succeeds."""

    def __init__(self, index):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.cuInit(0)
        context = ctypes.c_void_p()
        self.cuDevicePrimaryCtxRetain(ctypes.byref(context), index)
        self.cuCtxSetCurrent(context)

    def __getattr__(self, name):
        def call(*arguments):
            result = getattr(self.library, name)(*arguments)
            if result != 0:
                raise OSError(f"{name}: {result}")
        return call

    def allocate(self, size_bytes):
        address = ctypes.c_uint64()
        self.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size_bytes))
        return address

    def kernel(self, duration_ns):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.cuModuleLoadData(ctypes.byref(module), PTX % duration_ns)
        self.cuModuleGetFunction(ctypes.byref(function), module, b"busy__%dns" % duration_ns)
        return function

    def launch(self, function):
        self.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None)


def exported():
    library = ctypes.CDLL("libnvidia-ml.so.1")
    return [name for name in os.environ["NAMES"].split(",") if hasattr(library, name)]


def identities():
    nvml = Nvml()
    cuda = Cuda(0)
    seen = []
    for index in range(int(os.environ["GPUSIM_DEVICES"])):
        uuid = (ctypes.c_ubyte * 16)()
        pci, name = ctypes.create_string_buffer(32), ctypes.create_string_buffer(96)
        cuda.cuDeviceGetUuid_v2(uuid, index)
        cuda.cuDeviceGetPCIBusId(pci, len(pci), index)
        cuda.cuDeviceGetName(name, len(name), index)
        by_address = ctypes.c_void_p()
        nvml.nvmlDeviceGetHandleByPciBusId_v2(pci, ctypes.byref(by_address))
        seen.append({
            "driver": [bytes(uuid).hex(), name.value.decode()],
            "nvml": [nvml.text("nvmlDeviceGetUUID", index).replace("GPU-", "").replace("-", ""),
                     nvml.text("nvmlDeviceGetName", index)],
            "same address": by_address.value == nvml.device(index).value,
        })
    return seen


def hold_memory():
    """Holds memory on device 1 until its input ends."""
    cuda = Cuda(1)
    cuda.allocate(300 << 20)
    print("holding", flush=True)
    sys.stdin.read()


def look_at_memory():
    nvml = Nvml()
    return {"used": [nvml.memory_used(0), nvml.memory_used(1)], "processes": nvml.processes(1)}


def driver_and_nvml_memory():
    cuda = Cuda(0)
    cuda.allocate(100 << 20)
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
    return {"driver": total.value - free.value, "nvml": Nvml().memory_used(0)}


def busy():
    """A quarter of a second of kernels in one second of box time, then a second of nothing."""
    nvml = Nvml()
    cuda = Cuda(0)
    advance = ctypes.CDLL("libgpusim.so").gpusim_advance_ns
    read_clock = ctypes.CDLL("libgpusim.so").gpushim_test_clock

    def now():
        mono, real = ctypes.c_uint64(), ctypes.c_uint64()
        read_clock(ctypes.byref(mono), ctypes.byref(real))
        return mono.value

    def advance_to(moment):
        advance(ctypes.c_uint64(moment - now()))

    kernel = cuda.kernel(50_000_000)
    advance_to(10 * SECOND_NS)
    for _ in range(5):
        cuda.launch(kernel)
        cuda.cuCtxSynchronize()
        advance(ctypes.c_uint64(30_000_000))
    advance_to(11 * SECOND_NS)
    after_work = nvml.rates(0)
    advance_to(12 * SECOND_NS)
    return {"after work": after_work, "after rest": nvml.rates(0)}


def hot():
    """Of three kernels of a second each, how long it took, and what NVML says of the device after it."""
    nvml = Nvml()
    cuda = Cuda(0)
    library = ctypes.CDLL("libgpusim.so")

    def now():
        mono, real = ctypes.c_uint64(), ctypes.c_uint64()
        library.gpushim_test_clock(ctypes.byref(mono), ctypes.byref(real))
        return mono.value

    def clock():
        mhz, reasons, celsius = ctypes.c_uint(), ctypes.c_ulonglong(), ctypes.c_uint()
        nvml.nvmlDeviceGetClockInfo(nvml.device(0), 1, ctypes.byref(mhz))
        nvml.nvmlDeviceGetCurrentClocksEventReasons(nvml.device(0), ctypes.byref(reasons))
        nvml.nvmlDeviceGetTemperature(nvml.device(0), 0, ctypes.byref(celsius))
        return [mhz.value, reasons.value, celsius.value]

    kernel, seen = cuda.kernel(SECOND_NS), []
    for _ in range(3):
        from_ns = now()
        cuda.launch(kernel)
        cuda.cuCtxSynchronize()
        seen.append([round((now() - from_ns) / SECOND_NS, 2), *clock()])
    return seen


def pynvml():
    try:
        module = importlib.import_module("pynvml")
    except ImportError:
        return None
    module.nvmlInit()
    device = module.nvmlDeviceGetHandleByIndex(0)
    return {"name": module.nvmlDeviceGetName(device), "power": module.nvmlDeviceGetPowerUsage(device),
            "total": module.nvmlDeviceGetMemoryInfo(device).total,
            "reserved": module.nvmlDeviceGetMemoryInfo(device, version=module.nvmlMemory_v2).reserved,
            "processes": len(module.nvmlDeviceGetComputeRunningProcesses(device)),
            "utilisation": module.nvmlDeviceGetUtilizationRates(device).gpu}


def main():
    seen = globals()[sys.argv[1]]()
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
