#!/usr/bin/env python3
"""Stands in for a Python with PyTorch on a GPU, for the rows of the GPU check: whatever framework's work
it is given, it does that of programs/driver.py on the box, and writes what PyTorch's profiler would have
seen of it, from the box's truth (GPUSIM_TRUTH).

STAND_IN=nothing     as where there is no PyTorch
STAND_IN=differs     its results differ under the shim     STAND_IN=random     and by themselves
"""
import contextlib
import io
import json
import os
import pathlib
import random
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "gpu" / "programs")]

import box  # noqa: E402
import driver  # noqa: E402
import kineto_made  # noqa: E402

WINDOWS_OPEN_NS = 600_000_000  # by then, on a machine that has other work, too

BEHAVES = os.environ.get("STAND_IN", "")


def result():
    under = BEHAVES == "differs" and "LD_PRELOAD" in os.environ
    return [random.random()] if BEHAVES == "random" else [2.0 if under else 1.0, 3.0]


def framework(file=None, before_s=None, for_ns=0):
    if before_s is not None:
        with contextlib.redirect_stdout(io.StringIO()):
            driver.main()
        time.sleep(before_s)
    begin_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    with contextlib.redirect_stdout(io.StringIO()):
        driver.main()
        while time.clock_gettime_ns(time.CLOCK_MONOTONIC) < begin_ns + for_ns:
            driver.main()
    end_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    said = {"result": result(), "known": {"short__2us": 500}, "repeats": BEHAVES != "random"}
    if not file:
        return {**said, "span": [begin_ns, end_ns]} if before_s is not None else said
    seen = box.read_truth(os.environ["GPUSIM_TRUTH"].replace("%p", str(os.getpid())))
    pathlib.Path(file).write_text(kineto_made.of_operations(seen).text(), encoding="utf-8")
    return {**said, "span": [begin_ns, end_ns], "profiled": True}


def main():
    program, words = pathlib.Path(sys.argv[2]).name, sys.argv[3:]
    if BEHAVES == "nothing":
        said = {"missing": "no torch"}
    elif program == "framework.py":
        after = {word: words[words.index(word) + 1] for word in ("--count", "--span") if word in words}
        said = framework(after.get("--count"), 0.3 if "--span" in after else None,
                         WINDOWS_OPEN_NS if words[0] == "capture" else 0)
    else:
        framework()
        said = dict.fromkeys(("fork", "spawn") if "--workers" in words else ("losses",), result())
    print(json.dumps(said))


if __name__ == "__main__":
    main()
