"""Nights of a small training on the box, in stepped time, and the report of them."""
import json
import os
import pathlib
import subprocess
import sys

import box

JOB = pathlib.Path(__file__).with_name("nightly_job.py")
SCRIPT = box.ROOT / "scripts" / "nightly_report.sh"
DAY_S = 86_400
JITTER = 0.01  # standard deviation of each duration


def record(folder, seed, steps=120, copy_mb=1, kernels=10, kernel_us=100, night=0, **knobs):
    """Leaves the trace of a run in the folder: 10 kernels of 100 us and a copy of 40 us, if nothing else is
    said."""
    folder.mkdir(parents=True, exist_ok=True)
    env = box.environment({"GPUSIM_CLOCK": "stepped", "GPUSIM_JITTER": JITTER, "GPUSIM_SEED": seed,
                           "GPUSHIM_BUDGET": "100%", "GPUSHIM_OUT": f"{folder}/%r.%p.db",
                           "LD_PRELOAD": box.BUILD / "libgpushim.so", "NIGHT_S": night * DAY_S, **knobs})
    words = [sys.executable, "-B", JOB, steps, copy_mb, kernels, kernel_us]
    done = subprocess.run([str(word) for word in words], env=env, timeout=120, check=False,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode or done.stderr:
        raise RuntimeError(f"exit code {done.returncode}\n{done.stderr}")


def start_report(folder, *words):
    """The script, at work; nights of stepped time are years old, and none of them is late."""
    return subprocess.Popen([str(word) for word in (SCRIPT, folder, "--max-age", 0, *words)],
                            env={**os.environ, "GPUSHIM_BUILD": str(box.BUILD)}, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def report(folder, *words):
    """(exit code, what is printed, stderr) of the script."""
    program = start_report(folder, *words)
    shown, told = program.communicate(timeout=200)
    return program.returncode, shown, told


def answer(output):
    return json.loads((pathlib.Path(output) / "nightly.json").read_text(encoding="utf-8"))
