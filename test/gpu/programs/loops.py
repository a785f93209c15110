"""A loop of PyTorch that its GPU bounds (`queued`: everything waits behind what was launched before), or one
with pauses of the host (`unqueued`: every launch finds an empty queue). Prints what a step took, as JSON, or
{"missing": why}.

    loops.py queued|unqueued [--steps N] [--profile FILE] [--device cpu]

--profile: under torch.profiler, from before the first use of the GPU until all is over; FILE is what it
exports.
"""
import argparse
import contextlib
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "workloads"))

from missing import Missing, torch_as_it_is  # noqa: E402

BLOCKS = 10  # of steps, each timed with a wait at its end
PAUSE_NS = 150_000
SIZES = {"cuda": 2048, "cpu": 64}


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("loop", choices=("queued", "unqueued"))
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--profile")
    parser.add_argument("--device", default="cuda")
    return parser.parse_args()


def pause():
    until_ns = time.perf_counter_ns() + PAUSE_NS
    while time.perf_counter_ns() < until_ns:
        pass


def steps_of(torch, asked):
    """The function that is a step."""
    size = SIZES.get(asked.device, 2048) // (1 if asked.loop == "queued" else 4)
    weight = torch.randn(size, size, device=asked.device) / size ** 0.5
    data = torch.randn(size, size, device=asked.device)
    host = torch.randn(size, size)
    if asked.device == "cuda":
        host = host.pin_memory()

    def queued():
        nonlocal data
        data.copy_(host, non_blocking=True)
        for _ in range(4):
            data = torch.tanh(data @ weight)

    def unqueued():
        nonlocal data
        data = data @ weight
        pause()
        data = torch.tanh(data)
        pause()
        data.zero_()
        pause()
    return queued if asked.loop == "queued" else unqueued


def timed(step, wait, count):
    """What a step takes, in each of the blocks, in ns."""
    found = []
    for _ in range(BLOCKS):
        begin_ns = time.perf_counter_ns()
        for _ in range(max(count // BLOCKS, 1)):
            step()
        wait()
        found.append((time.perf_counter_ns() - begin_ns) / max(count // BLOCKS, 1))
    return found


def run(torch, asked):
    wait = torch.cuda.synchronize if asked.device == "cuda" else lambda: None
    activity = torch.profiler.ProfilerActivity
    wanted = [activity.CUDA] if asked.device == "cuda" else [activity.CPU]
    profile = torch.profiler.profile(activities=wanted) if asked.profile else None
    with profile or contextlib.nullcontext():
        step = steps_of(torch, asked)
        for _ in range(20):
            step()
        wait()
        found = timed(step, wait, asked.steps)
    if profile:
        profile.export_chrome_trace(asked.profile)
    return {"step_ns": found, "torch": torch.__version__}


def main():
    asked = arguments()
    try:
        print(json.dumps(run(torch_as_it_is(asked.device), asked)))
    except Missing as why:
        print(json.dumps({"missing": str(why)}))


if __name__ == "__main__":
    main()
