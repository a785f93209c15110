"""A training loop as PyTorch's profiler tells it, for what a program without a framework cannot show:
operators and the Python between them. Lengths in ns. The GPU runs a kernel as soon as it is launched, or
when the one before it is over."""
import json
import pathlib

PROCESS, THREAD, STREAM = 4711, 4712, 7
LATENCY_NS, LAUNCH_NS = 5_000, 4_000
HALF_GEMM = "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_tn"  # on tensor cores


class Profile:
    def __init__(self):
        self.events, self.now, self.free = [], 1_000_000, 0

    def add(self, category, name, start, end, thread=THREAD, **arguments):
        self.events.append({"ph": "X", "cat": category, "name": name, "ts": start / 1000,
                            "dur": (end - start) / 1000, "pid": PROCESS, "tid": thread, "args": arguments})

    def operator(self, name, dispatch_ns, kernel, runs_ns):
        """Dispatched for so long, and then the kernel is launched."""
        begin, call = self.now, self.now + dispatch_ns
        self.now = call + LAUNCH_NS
        start = max(call + LATENCY_NS, self.free)
        self.free = start + runs_ns
        number = len(self.events)
        self.add("cpu_op", name, begin, self.now)
        self.add("cuda_runtime", "cudaLaunchKernel", call, self.now, correlation=number)
        self.add("kernel", kernel, start, self.free, STREAM, correlation=number, device=0, context=1,
                 stream=STREAM, grid=[1056, 1, 1], block=[256, 1, 1])

    def computes(self, name, length_ns):
        """An operator on tensors of the host."""
        self.add("cpu_op", name, self.now, self.now + length_ns)
        self.now += length_ns

    def pages(self, count, moves_ns, size, apart_over_ns):
        """Of managed memory, that move to the GPU while the newest kernel runs for so long."""
        for number in range(count):
            start = self.free - apart_over_ns + number * (apart_over_ns // count)
            self.add("gpu_memcpy", "Memcpy HtoD (Managed -> Managed)", start, start + moves_ns, STREAM + 1,
                     device=0, context=1, stream=STREAM + 1, bytes=size)

    def python(self, length_ns):
        self.now += length_ns

    def step(self, number, body):
        begin = self.now
        body(self)
        self.now = max(self.now, self.free)
        self.add("user_annotation", f"ProfilerStep#{number}", begin, self.now)

    def text(self):
        gpu = {"id": 0, "name": "Made GPU", "totalGlobalMem": 1 << 34, "numSms": 132, "computeMajor": 9,
               "computeMinor": 0}
        return json.dumps({"schemaVersion": 1, "deviceProperties": [gpu], "traceEvents": self.events})

    def write(self, folder):
        """Whose format it is, and the file."""
        file = pathlib.Path(folder, "profile.json")
        file.write_text(self.text(), encoding="utf-8")
        return "kineto", file
