"""Does the work of one file of workloads/ twice: to be ready, and again, and that result is printed. It must
be the same each time.

    framework.py NAME [--device cuda|cpu] [--count FILE | --span SECONDS]

--count: the second time next to PyTorch's profiler, which writes what CUPTI saw there to FILE; `span` is
from when to when (CLOCK_MONOTONIC), `known` how often the work itself says that its kernels ran.
--span: no profiler, but as many seconds before it, and `span` is said. The
last line is JSON. Where something is not there, that is {"missing": why}, and no failure.
"""
import argparse
import contextlib
import importlib
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "workloads"))

from missing import Missing, imported  # noqa: E402

ASIDE_S = 0.05  # so that no clock's error puts an operation outside of what the profiler looks at


def profiled(device):
    """PyTorch's profiler, and None where there is no PyTorch: then only what the work says is compared."""
    try:
        profiler = imported("torch").profiler
    except Missing:
        return None
    kinds = [profiler.ProfilerActivity.CPU]
    if device == "cuda":
        kinds.append(profiler.ProfilerActivity.CUDA)
    return profiler.profile(activities=kinds)


def counted(work, device, file):
    profiler = profiled(device) if file else None
    with profiler or contextlib.nullcontext():
        time.sleep(ASIDE_S)
        begin_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        result, known = work()
        end_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        time.sleep(ASIDE_S)
    if profiler:
        profiler.export_chrome_trace(file)
    return {"result": result, "known": known, "span": [begin_ns, end_ns], "profiled": profiler is not None}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--count", metavar="FILE")
    parser.add_argument("--span", type=float, metavar="SECONDS")
    asked = parser.parse_args()
    try:
        work = importlib.import_module(asked.name).prepared(asked.device)
        first, _ = work()
        time.sleep(asked.span or 0)
        said = counted(work, asked.device, asked.count)
        said["repeats"] = said["result"] == first
    except Missing as why:
        said = {"missing": str(why)}
    if not (asked.count or asked.span):  # the same each time
        said = {name: said[name] for name in ("missing", "result", "known", "repeats") if name in said}
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
