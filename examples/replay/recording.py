"""What a Kineto trace says of one process's GPUs: its operations with their launch calls, and its steps.
Times are whole nanoseconds after the first of them."""
import decimal
import gzip
import json
from typing import NamedTuple, Optional

KINDS = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "memset",
         "Kernel": "kernel", "Memcpy": "copy", "Memset": "memset"}
CALLS = ("cuda_runtime", "cuda_driver", "Runtime")


class Operation(NamedTuple):
    launch: int  # when its call was entered; where that is not known, when it began
    start: int
    end: int
    kind: str
    name: str
    device: int
    stream: int
    size: Optional[int]  # bytes of a copy or memset
    has_call: bool


class Recording(NamedTuple):
    operations: list  # by launch
    steps: list       # (begin, name), by begin


def nanoseconds(value):
    return round(value * 1000)


def read(path):
    with (gzip.open(path) if str(path).endswith(".gz") else open(path, "rb")) as file:
        document = json.load(file, parse_float=decimal.Decimal)
    elements = [e for e in (document["traceEvents"] if isinstance(document, dict) else document)
                if e.get("ph") == "X"]
    calls = {e["args"]["correlation"]: nanoseconds(e["ts"]) for e in elements
             if e.get("cat") in CALLS and "correlation" in e.get("args", {})}
    operations = [operation(e, calls) for e in elements if e.get("cat") in KINDS]
    steps = [(nanoseconds(e["ts"]), e["name"]) for e in elements if e["name"].startswith("ProfilerStep")
             and e.get("cat") in ("user_annotation", "cpu_op", "Operator")]
    zero = min([op.launch for op in operations] + [begin for begin, _ in steps], default=0)
    return Recording(
        called_in_time(op._replace(launch=op.launch - zero, start=op.start - zero, end=op.end - zero)
                       for op in operations),
        sorted((begin - zero, name) for begin, name in steps))


def called_in_time(operations):
    """By launch. One whose call is not known was called before those that ran behind it on its stream."""
    next_launch, placed = {}, []
    for op in sorted(operations, key=lambda op: op.start, reverse=True):
        stream = op.device, op.stream
        if not op.has_call:
            op = op._replace(launch=min(op.launch, next_launch.get(stream, op.launch)))
        next_launch[stream] = op.launch
        placed.append(op)
    return sorted(placed, key=lambda op: (op.launch, op.start))


def operation(element, calls):
    arguments = element["args"]
    start = nanoseconds(element["ts"])
    launch = calls.get(arguments.get("correlation"))
    return Operation(start if launch is None else min(launch, start), start,
                     start + nanoseconds(element["dur"]), KINDS[element["cat"]], element["name"],
                     int(arguments.get("device", 0)), int(arguments["stream"]), arguments.get("bytes"),
                     launch is not None)
