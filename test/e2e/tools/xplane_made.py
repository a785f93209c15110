"""XPlane files as TensorFlow's and JAX's profilers write them: a protobuf encoder of a few lines, and a host
with GPUs, streams and threads. Times in nanoseconds."""
import gzip

COLLECTIVE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"

def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def field(number, value):
    """A number, or what has a length; 0 is not written, as in proto3."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value) if value else b""
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


class Plane:
    def __init__(self, name, **stats):
        self.name, self.lines, self.events, self.stats = name, {}, {}, {}
        self.own = [self.stat(*item) for item in stats.items()]

    def number(self, table, name):
        return table.setdefault(name, len(table) + 1)

    def stat(self, name, value):
        """Details are texts by reference, as newer files have them."""
        number = field(1, self.number(self.stats, name))
        if name == "kernel_details":
            return number + field(7, self.number(self.stats, value))
        return number + (field(5, value) if isinstance(value, str) else field(4, value))

    def event(self, line, name, start, duration, **stats):
        """`line`: its number and its name."""
        picoseconds = field(2, start * 1000) + field(3, duration * 1000)
        said = b"".join(field(4, self.stat(*item)) for item in stats.items())
        event = field(1, self.number(self.events, name)) + picoseconds + said
        self.lines.setdefault(line, []).append(event)

    def text(self, base=0):
        out = field(1, 1) + field(2, self.name)
        for (number, name), events in self.lines.items():
            head = field(1, number) + field(2, name) + field(3, base)
            out += field(3, head + b"".join(field(4, event) for event in events))
        for where, table in ((4, self.events), (5, self.stats)):
            for name, number in table.items():
                out += field(where, field(1, number) + field(2, field(1, number) + field(2, name)))
        return out + b"".join(field(6, stat) for stat in self.own)


class Host:
    """One host: its threads, and GPUs as they are asked for."""
    THREAD = (4712, "python3")

    def __init__(self, name="made", base=1_700_000_000_000_000_000):
        self.name, self.base, self.began, self.correlation = name, base, None, 100
        self.threads, self.gpus = Plane("/host:CPU", process_id=4711), {}

    def gpu(self, number):
        return self.gpus.setdefault(number, Plane(
            f"/device:GPU:{number}", core_count=108, memory_size=1 << 34, compute_cap_major=8,
            compute_cap_minor=0, gpu_device_name="Made GPU"))

    def span(self, name, start, duration, thread=THREAD, **stats):
        self.threads.event(thread, name, start, duration, **stats)

    def work(self, gpu, stream, name, call, start, duration, call_name=None, **stats):
        """Asked for at `call`, for 2 us; None: its call was not seen."""
        self.correlation += 1
        if call is not None:
            details = {key: value for key, value in stats.items() if key == "memcpy_details"}
            self.threads.event(self.THREAD, call_name or name, call, 2000, correlation_id=self.correlation,
                               **details)
        self.gpu(gpu).event((stream, f"Stream #{stream}(Compute)"), name, start, duration,
                            correlation_id=self.correlation, context_id="$$3", **stats)

    def kernel(self, name, call, start, duration, gpu=0, stream=17, **options):
        self.work(gpu, stream, name, call, start, duration,
                  kernel_details="regs:38 static_shared:64 dynamic_shared:0 grid:8,2,1 block:128,1,1 "
                  "occ_pct:50", **options)

    def copy(self, kind, size, call, start, duration, gpu=0, stream=18, is_async=1, source="pageable"):
        self.work(gpu, stream, kind, call, start, duration, memcpy_details=f"kind_src:{source} "
                  f"kind_dst:device size:{size} dest:0 async:{is_async}")

    def bytes(self):
        planes = b"".join(field(1, plane.text(self.base)) for plane in (self.threads, *self.gpus.values()))
        if self.began is not None:
            planes += field(1, Plane("Task Environment", profile_start_time=self.began).text())
        return planes + field(4, self.name)

    def write(self, path, packed=None):
        packed = path.suffix == ".gz" if packed is None else packed
        path.write_bytes(gzip.compress(self.bytes(), mtime=0) if packed else self.bytes())
        return path


def program(name="made", steps=4, base=1_700_000_000_000_000_000):
    """Steps of 1 ms: a copy, two kernels, a collective, a memset; in a span of the profiler's."""
    host = Host(name, base)
    for number in range(steps):
        at = 1_000_000 * (number + 1)
        host.span("train", at, 900_000, step_num=number + 1, _r=1)
        host.span("IteratorGetNext:IteratorGetNext", at + 1_000, 15_000)
        host.copy("MemcpyH2D", 4096, at + 20_000, at + 30_000, 10_000)
        host.kernel("gemm", at + 60_000, at + 70_000, 100_000)
        host.kernel(COLLECTIVE, at + 80_000, at + 170_000, 50_000, stream=20)
        host.work(0, 17, "Memset", at + 90_000, at + 230_000, 5_000,
                  memset_details="kind:device num_bytes:512 async:1")
        host.kernel("lost", None, at + 300_000, 10_000)
        host.span("cuStreamSynchronize", at + 400_000, 100_000, correlation_id=9_000 + number)
        host.gpu(0).event((18446744073150512882, "TensorFlow Ops"), "gemm:MatMul", at + 70_000, 100_000)
        host.gpu(0).event((18446744073150512879, "Steps"), str(number + 1), at + 30_000, 280_000)
    return host


def several_gpus(name, gpus, steps=4):
    """One process launches for all its GPUs: each has a kernel, longer on each later GPU, and a collective.
    """
    host = Host(name)
    for number in range(steps):
        at = 1_000_000 * (number + 1)
        host.span("train", at, 900_000, step_num=number + 1, _r=1)
        for gpu in range(gpus):
            call = at + 20_000 + 10_000 * gpu
            host.kernel("gemm", call, call + 20_000, 100_000 + 10_000 * gpu, gpu=gpu)
            host.kernel(COLLECTIVE, call + 4_000, at + 400_000, 50_000, gpu=gpu, stream=20)
    return host
