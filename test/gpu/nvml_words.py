"""What somebody else says of a GPU beside our samples: nvidia-smi's lines, or the same asked of NVML directly
(as a program: prints such lines, where there is no nvidia-smi). The comparison is pure."""
import ctypes
from typing import NamedTuple

QUERY = ("uuid", "utilization.gpu", "utilization.memory", "memory.used", "memory.total", "power.draw",
         "temperature.gpu", "clocks.sm", "clocks.mem")
MIB = 1 << 20
AROUND_NS = 2_200_000_000  # samples so near are compared, where there is one before and one after


class Figure(NamedTuple):
    """A column of theirs, ours for it, how many of ours are one of theirs, and how far apart they may be."""

    theirs: str
    ours: str
    factor: float
    share: float
    least: float


# Utilisation is of a sampling period of up to a second, power and clocks follow the load at once.
FIGURES = (Figure("utilization.gpu", "gpu_busy_percent", 1, 0.0, 10),
           Figure("utilization.memory", "memory_busy_percent", 1, 0.0, 10),
           Figure("memory.used", "memory_used_bytes", MIB, 0.0, 16),
           Figure("memory.total", "memory_total_bytes", MIB, 0.0, 1),
           Figure("power.draw", "power_mw", 1000, 0.10, 10),
           Figure("temperature.gpu", "temperature_c", 1, 0.0, 3),
           Figure("clocks.sm", "sm_mhz", 1, 0.05, 15),
           Figure("clocks.mem", "memory_mhz", 1, 0.01, 1))


def read(line):
    """{column: text} of a line of `nvidia-smi --format=csv,noheader,nounits`."""
    words = [word.strip() for word in line.split(",")]
    return dict(zip(QUERY, words)) if len(words) == len(QUERY) else {}


def _number(text):
    try:
        return float(text)
    except ValueError:  # "[N/A]"
        return None


class Beside(NamedTuple):
    """One figure over all of what they said."""

    compared: int
    example: str  # theirs and ours
    outside: list


def compare(said, samples):
    """{column: Beside}. said: [(mono_ns, {column: text})]; samples: [(mono_ns, {key: number})]. What they say
    has to lie between the least and the most of our samples around it, give or take the tolerance."""
    return {figure.theirs: _compare(figure, said, samples) for figure in FIGURES}


def _compare(figure, said, samples):
    compared, example, outside = 0, "", []
    for mono_ns, words in said:
        theirs = _number(words.get(figure.theirs, ""))
        near = [(abs(at - mono_ns), at, keys[figure.ours] / figure.factor) for at, keys in samples
                if abs(at - mono_ns) <= AROUND_NS and keys.get(figure.ours) is not None]
        if theirs is None or not any(at <= mono_ns for _, at, _ in near) or \
                not any(at >= mono_ns for _, at, _ in near):
            continue
        values = [value for *_, value in near]
        slack = max(figure.least, figure.share * max(abs(theirs), *map(abs, values)))
        compared += 1
        example = f"{theirs:.0f} and {min(near)[-1]:.0f}"
        if not min(values) - slack <= theirs <= max(values) + slack:
            outside.append(f"{theirs:.0f}, ours {min(values):.0f} to {max(values):.0f}")
    return Beside(compared, example, outside)


class Nvml:
    """The library, by ctypes; what it has no answer for is [N/A], as nvidia-smi says."""

    class Memory(ctypes.Structure):
        _fields_ = [("version", ctypes.c_uint), *((name, ctypes.c_ulonglong)
                                                  for name in ("total", "reserved", "free", "used"))]

    def __init__(self):
        self.library = ctypes.CDLL("libnvidia-ml.so.1")
        self.library.nvmlInit_v2()

    def number(self, name, device, *more, fields=1, which=0):
        out = (ctypes.c_uint * fields)()
        done = getattr(self.library, name)(device, *more, ctypes.byref(out))
        return str(out[which]) if done == 0 else "[N/A]"

    def line(self, index):
        device, uuid = ctypes.c_void_p(), ctypes.create_string_buffer(96)
        self.library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device))
        self.library.nvmlDeviceGetUUID(device, uuid, len(uuid))
        memory = self.Memory(version=ctypes.sizeof(self.Memory) | 2 << 24)
        has = self.library.nvmlDeviceGetMemoryInfo_v2(device, ctypes.byref(memory)) == 0
        power = self.number("nvmlDeviceGetPowerUsage", device)
        busy = [self.number("nvmlDeviceGetUtilizationRates", device, fields=2, which=i) for i in (0, 1)]
        return ", ".join([uuid.value.decode(), *busy,
                          *(str(size // MIB) if has else "[N/A]" for size in (memory.used, memory.total)),
                          str(float(power) / 1000) if power.isdigit() else power,
                          self.number("nvmlDeviceGetTemperature", device, 0),
                          self.number("nvmlDeviceGetClockInfo", device, 1),
                          self.number("nvmlDeviceGetClockInfo", device, 2)])

    def count(self):
        count = ctypes.c_uint()
        self.library.nvmlDeviceGetCount_v2(ctypes.byref(count))
        return count.value


def main():
    nvml = Nvml()
    for index in range(nvml.count()):
        print(nvml.line(index))


if __name__ == "__main__":
    main()
