"""What HolisticTraceAnalysis says of a Kineto trace, from its definitions (see analysis/run/parts/hta.h), the
slow and plain way: one question after the other over lists of all operations. `compat_hta_*` must say the
same.

    python3 hta_oracle.py TRACE.json.gz
"""
import decimal
import gzip
import json
import re
import sys

OPERATIONS = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"}
CALLS = {"cuda_runtime", "cuda_driver", "Runtime"}
KERNEL_WAIT_NS = 30000
COMMUNICATION = re.compile(r"nccl|hip|hccl|.*ncclKernel", re.DOTALL)
NO_COMPUTATION = re.compile(r"nccl|.*(Memcpy|Memset|dma|Sync)|Stream Wait Event|cuda.*LaunchKernel|hip|hccl",
                            re.DOTALL)


def nanoseconds(element):
    start = round(element["ts"] * 1000)
    return start, start + round(element.get("dur", 0) * 1000)


def operations(elements):
    """(start, end, launch call's start or None, stream, name) of those that count, by start."""
    calls = {e["args"]["correlation"]: nanoseconds(e)[0] for e in elements
             if e.get("cat") in CALLS and "correlation" in e.get("args", {})}
    steps = [e for e in elements if e.get("ph") == "X" and e["name"].startswith("ProfilerStep")
             and e.get("cat") in ("user_annotation", "cpu_op", "Operator")]
    found = [(*nanoseconds(e), calls.get(e["args"].get("correlation")), e["args"]["stream"], e["name"])
             for e in elements if e.get("cat") in OPERATIONS]
    if len({step["name"] for step in steps}) > 1:
        last = max(nanoseconds(step)[0] for step in steps)
        found = [row for row in found if row[2] is not None and row[2] < last]
    return sorted(found, key=lambda row: row[:2])


def union(spans):
    merged = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


def length(spans):
    return sum(end - start for start, end in spans)


def temporal(rows):
    spans = [row[:2] for row in rows]
    window = max(end for _, end in spans) - min(start for start, _ in spans)
    compute = union(row[:2] for row in rows
                    if not NO_COMPUTATION.match(row[4]) and not COMMUNICATION.match(row[4]))
    communication = union(row[:2] for row in rows if COMMUNICATION.match(row[4]))
    both = length(compute) + length(communication) - length(union(map(tuple, compute + communication)))
    idle = window - length(union(spans))
    return {"window_ns": window, "idle": idle / window, "compute": length(compute) / window,
            "non_compute": (window - idle - length(compute)) / window,
            "overlap": both / length(communication) if communication else None}


def idle_by_stream(rows):
    sums = {}
    for stream in {row[3] for row in rows}:
        mine = [row for row in rows if row[3] == stream]
        for before, row in zip(mine, mine[1:]):
            gap = row[0] - before[1]
            host = row[2] is not None and row[2] > before[1]
            category = "host_wait" if host else "kernel_wait" if gap < KERNEL_WAIT_NS else "other"
            sums[stream, category] = sums.get((stream, category), 0) + gap
    return sums


def read(path):
    opened = gzip.open(path) if str(path).endswith(".gz") else open(path, "rb")
    with opened as file:
        data = json.load(file, parse_float=decimal.Decimal)
    return operations(data["traceEvents"] if isinstance(data, dict) else data)


if __name__ == "__main__":
    all_rows = read(sys.argv[1])
    print(temporal(all_rows))
    for key, nanoseconds_idle in sorted(idle_by_stream(all_rows).items()):
        print(*key, nanoseconds_idle // 1000, "us")
