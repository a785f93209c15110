"""Runs steps of a workload when it is told to, so that processes that differ in one thing can take turns.
Reads lines, and answers each with a line of JSON:

    load NAME     makes it ready       {"ready": NAME}, or {"missing": why}
    go N B        B times N steps      {"step_ns": [of each of the B]}
    unload                             {}

    turns.py launches                  of the driver alone, by ctypes; the box has nothing else
    turns.py torch [--device cpu] [--profiler cuda|default]
"""
import argparse
import json
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent / "workloads"))

from missing import Missing, torch_as_it_is  # noqa: E402


class Launches:
    """Twenty launches."""

    warm_up = 10

    def __init__(self):
        sys.path.insert(0, str(HERE.parents[3] / "examples" / "train"))
        import cuda  # pylint: disable=import-outside-toplevel
        import kernels  # pylint: disable=import-outside-toplevel
        self.driver = cuda.Driver()
        self.driver.cuInit(0)
        self.device = cuda.Device(self.driver, 0)
        self.stream = self.device.stream()
        self.ready = kernels.Kernels(self.device, {"short": 2})

    def load(self, name):
        return self.step

    def step(self):
        for _ in range(20):
            self.ready.launch("short", self.stream)

    def wait(self):
        self.driver.cuStreamSynchronize(self.stream)

    def unload(self):
        pass


class Torch:
    def __init__(self, asked):
        torch = torch_as_it_is(asked.device)
        import models  # pylint: disable=import-outside-toplevel
        self.torch, self.choices, self.device = torch, models.CHOICES, asked.device
        self.asked_profiler, self.profiler = asked.profiler, None
        self.wait = torch.cuda.synchronize if self.device == "cuda" else lambda: None
        self.warm_up = 10 if self.device == "cuda" else 1
        if self.device == "cpu":
            torch.set_num_threads(1)

    def load(self, name):
        step = self.choices[name](self.torch, self.device)
        if self.asked_profiler:
            activity = self.torch.profiler.ProfilerActivity
            device = [activity.CUDA] if self.device == "cuda" else []
            host = [activity.CPU] if self.asked_profiler == "default" or not device else []
            self.profiler = self.torch.profiler.profile(activities=host + device)
            self.profiler.start()
        return step

    def unload(self):
        if self.profiler:
            self.profiler.stop()
            self.profiler = None
        if self.device == "cuda":
            self.torch.cuda.empty_cache()


def timed(step, wait, count):
    begin_ns = time.perf_counter_ns()
    for _ in range(count):
        step()
    wait()
    return (time.perf_counter_ns() - begin_ns) / count


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=("launches", "torch"))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--profiler", choices=("cuda", "default"))
    return parser.parse_args()


def load(work, name):
    try:
        step = work.load(name)
        for _ in range(work.warm_up):
            step()
        work.wait()
    except (RuntimeError, AttributeError, KeyError) as why:  # an older or newer PyTorch, or too little memory
        return None, {"missing": f"{type(why).__name__}: {why}"[:300]}
    return step, {"ready": name}


def answers(work, lines):
    step = None
    for line in lines:
        word, *more = line.split()
        answer = {}
        if word == "load":
            step, answer = load(work, more[0])
        elif word == "go":
            count, blocks = map(int, more)
            timed(step, work.wait, max(count // 4, 1))  # what others did meanwhile is over
            answer = {"step_ns": [timed(step, work.wait, count) for _ in range(blocks)]}
        else:
            step = None
            work.unload()
        yield answer


def main():
    asked = arguments()
    try:
        work = Torch(asked) if asked.kind == "torch" else Launches()
    except Missing as why:
        print(json.dumps({"missing": str(why)}))
        return
    for answer in answers(work, sys.stdin):
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
