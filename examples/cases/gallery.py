#!/usr/bin/env python3
"""Runs a case of this gallery on the simulated box and prints what gpushim says of it.

    examples/cases/gallery.py NAME [fixed]      examples/cases/gallery.py        what there is
"""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
BUILD = ROOT / os.environ.get("GPUSHIM_BUILD", "build")
PLACES = {}  # of what is not in the build folder: {"gpushim": …, "libgpushim.so": …, "sim": …}
STREAMS = {}  # of the programs that are traced, where the caller has other wishes: {"stderr": None}
TIMEOUT_S = 120


def part(name):
    return PLACES.get(name) or BUILD / name


def names():
    return sorted(path.parent.name for path in FOLDER.glob("*/case.py"))


def expected(name):
    return json.loads((FOLDER / name / "expect.json").read_text(encoding="utf-8"))


def environment(knobs):
    """The caller's, a box that nobody else uses, and everything timed; no knobs of the box but these."""
    around = {name: value for name, value in os.environ.items()
              if not name.startswith("GPUSIM_") or name == "GPUSIM_BOX"}
    libraries = [str(part("sim")), *filter(None, [around.get("LD_LIBRARY_PATH")])]
    return {"GPUSIM_BOX": f"cases.{os.getpid()}", **around, "LD_LIBRARY_PATH": ":".join(libraries),
            "GPUSIM_CLOCK": "stepped", "LD_PRELOAD": str(part("libgpushim.so")), "GPUSHIM_BUDGET": "100%",
            **{name: str(value) for name, value in knobs.items()}}


def run(command, may_warn=False, **options):
    done = subprocess.run([str(word) for word in command], timeout=TIMEOUT_S, text=True, check=False,
                          **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                             "stderr": subprocess.PIPE, **options})
    if done.returncode or done.stderr and not may_warn:
        raise RuntimeError(f"{command[0]}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def trace(program, folder, knobs):
    """A program of the box with its traces in the folder; what it printed."""
    return run([sys.executable, "-B", *program],
               env=environment({"GPUSHIM_OUT": f"{folder}/%r.%p.db", **knobs}), **STREAMS)


def profile_of(name, steps, fixed):
    """A case of which a profiler tells: no program of the box."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / name / "case.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.profile(steps, fixed)


def record_profile(profile, folder):
    with tempfile.TemporaryDirectory() as made:
        tool, file = profile.write(made)
        run([part("gpushim"), "import", tool, file, "-o", f"{made}/run.db", "--keep-traces", folder])


def record(name, folder, fixed=False):
    """{finding: ns of a step}, where the case itself knows what it cost."""
    expect = expected(name)
    if expect.get("profile"):
        record_profile(profile_of(name, expect.get("steps", 40), fixed), folder)
        return {}
    loop = [FOLDER / "loop.py", FOLDER / name, expect.get("steps", 40), *(["fixed"] if fixed else [])]
    told = trace(loop, folder,
                 expect.get("fixed_knobs" if fixed and "fixed_knobs" in expect else "knobs", {}))
    return json.loads(told or "{}")


def report(name, folder, *options):
    return run([part("gpushim"), "report", folder, *expected(name).get("options", []), *options])


def report_of(place, may_warn=False):
    """may_warn: of a run that was not made here, about which there may be something to say."""
    return json.loads(run([part("gpushim"), "report", place, "--json"], may_warn))


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in names():
        print(*names(), sep="\n")
        return 0 if len(sys.argv) < 2 else 2
    name, fixed = sys.argv[1], "fixed" in sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        record(name, folder, fixed)
        print(report(name, folder), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
