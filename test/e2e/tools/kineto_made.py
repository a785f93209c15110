"""Kineto traces by the dozen: as PyTorch writes them, of random loads whose truth the oracle knows."""
import gzip
import json
import random

KERNELS = ("void at::native::vectorized_elementwise_kernel<4>()", "ampere_sgemm_128x64_tn",
           "void cub::DeviceSyncKernel()", "cross_device_reduce_1stage")
COLLECTIVE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"
OLD_COLLECTIVE = "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)"
NCCL_ARGUMENTS = {"Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000,
                  "Group size": 2, "dtype": "BFloat16", "Process Group Name": "0",
                  "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1]"}
PID, TID = 4711, 4712


class Trace:
    """Events at times in nanoseconds, written in microseconds as Kineto does."""

    def __init__(self, rank=0, world_size=2):
        self.events, self.rank, self.world_size, self.correlation = [], rank, world_size, 100

    def add(self, category, name, start, duration, pid, tid, **arguments):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid,
                            "ts": start / 1000, "dur": duration / 1000, "args": arguments})

    def step(self, number, start, duration):
        self.add("user_annotation", f"ProfilerStep#{number}", start, duration, PID, TID)

    def call(self, name, start, duration, correlation=None):
        self.correlation += 1
        self.add("cuda_runtime", name, start, duration, PID, TID,
                 correlation=correlation or self.correlation, cbid=1)
        return correlation or self.correlation

    def operation(self, category, name, start, duration, stream, correlation, **arguments):
        self.add(category, name, start, duration, 0, stream, device=0, context=1, stream=stream,
                 correlation=correlation, **arguments)

    def kernel(self, name, call, start, duration, stream=7, **arguments):
        """Launched at `call`; None: its call was not seen."""
        correlation = 9_000_000 + len(self.events)
        if call is not None:
            correlation = self.call("cudaLaunchKernel", call, 2000)
        self.operation("kernel", name, start, duration, stream, correlation, grid=[8, 2, 1],
                       block=[128, 1, 1], **{"shared memory": 64}, **arguments)

    def graph(self, launch, starts, length, correlation):
        """One launch of a graph, at `launch`, whose kernels run at `starts`."""
        self.call("cudaGraphLaunch", launch, 3_000, correlation)
        for start in starts:
            self.operation("kernel", "node", start, length, 7, correlation, grid=[1, 1, 1],
                           block=[64, 1, 1])

    def text(self):
        return json.dumps({
            "schemaVersion": 1, "traceEvents": self.events,
            "deviceProperties": [{"id": 0, "name": "Made GPU", "totalGlobalMem": 1 << 34, "numSms": 108,
                                  "computeMajor": 8, "computeMinor": 0}],
            "distributedInfo": {"backend": "nccl", "rank": self.rank, "world_size": self.world_size}})

    def write(self, path):
        path.write_bytes(gzip.compress(self.text().encode(), mtime=0))
        return path


def made(seed, steps, unit_ns=1000, lost=0.03):
    """Streams that wait, run on and stand still, in no order of time. unit_ns: all times are multiples of it;
    lost: share of kernels whose calls were not seen."""
    dice = random.Random(seed)
    trace = Trace()
    free, host = {7: 0, 20: 0, 24: 0}, 1_000_000

    def units(least, most):
        return dice.randrange(least, most) * unit_ns * (1000 // unit_ns)

    for step in range(steps):
        begin = host
        for _ in range(dice.randrange(20, 80)):
            host += units(2, 200 if dice.random() < 0.2 else 6) + dice.randrange(2) * unit_ns
            stream = dice.choice([7, 7, 7, 20, 24])
            start = max(host + units(3, 12), free[stream] + units(0, 60 if dice.random() < 0.1 else 3))
            duration = units(1, 400 if stream == 20 else 60)
            seen = host if dice.random() >= lost else None
            kind = dice.random()
            if stream == 20:
                trace.kernel(dice.choice([COLLECTIVE, OLD_COLLECTIVE]), seen, start, duration, stream)
            elif kind < 0.15:
                trace.operation("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", start, duration, stream,
                                trace.call("cudaMemcpyAsync", host, 3000), bytes=4096)
            elif kind < 0.2:
                trace.operation("gpu_memset", "Memset (Device)", start, duration, stream,
                                trace.call("cudaMemsetAsync", host, 3000), bytes=64)
            else:
                trace.kernel(dice.choice(KERNELS), seen, start, duration, stream)
            free[stream] = start + duration
        trace.step(step + 5, begin, host - begin)
        host += units(5, 300)
    dice.shuffle(trace.events)
    return trace


COPIES = {"h2d": "Memcpy HtoD (Pinned -> Device)", "d2h": "Memcpy DtoH (Device -> Pageable)",
          "d2d": "Memcpy DtoD (Device -> Device)"}


def of_operations(truth):
    """What the profiler would have written of operations of the box."""
    trace = Trace()
    for number, operation in enumerate(truth):
        if operation.op == "kernel":
            trace.kernel(operation.name, operation.call_enter_ns, operation.start_ns, 1000)
        elif operation.op in COPIES or operation.op == "memset":
            category = "gpu_memset" if operation.op == "memset" else "gpu_memcpy"
            trace.operation(category, COPIES.get(operation.op, "Memset (Device)"), operation.start_ns, 1000,
                            7, number, bytes=operation.bytes)
    return trace
