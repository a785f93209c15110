"""What end-to-end tests stand on: where things are, running a program on the box, reading its truth.

A test starts real processes. The runner gives each test a simulated box of its own; beside its name, a
test's knobs are the only GPUSIM_* variables that its processes see.
"""
import os
import pathlib
import struct
import subprocess
from typing import NamedTuple

import report_schema

TOOLS = pathlib.Path(__file__).resolve().parent
ROOT = TOOLS.parents[2]
BUILD = ROOT / os.environ.get("GPUSHIM_BUILD", "build")
SIM = BUILD / "sim"
# In test/systems the build folder has links to what was installed: the tests run that.
PROGRAM, LIBRARY = ((BUILD / name).resolve() for name in ("gpushim", "libgpushim.so"))
COUNT_RECORD = struct.Struct("<72sQQQ")


class Operation(NamedTuple):
    """One line of the truth file: an operation of the device. Times are CLOCK_MONOTONIC."""

    op: str
    device: int
    stream: str
    start_ns: int
    end_ns: int
    bytes: int
    name: str
    call_enter_ns: int
    call_exit_ns: int


class Count(NamedTuple):
    """Calls of one export: entered, returned, and how many of those the driver made to itself."""

    entered: int
    returned: int
    nested: int


def include_folders():
    """Where the headers of CUDA, NVML and NCCL are, as the Makefile knows it."""
    lines = (ROOT / "build" / "deps.mk").read_text(encoding="utf-8").splitlines()
    return [ROOT / folder for line in lines for folder in line.partition(":=")[2].split()]


def include_flags():
    return [word for folder in include_folders() for word in ("-isystem", str(folder))]


def environment(knobs=None, sim=True):
    """The environment of a program on the box (or off it): no knobs of the caller's but which box it is."""
    around = os.environ.items()
    env = {name: value for name, value in around if not name.startswith("GPUSIM_") or name == "GPUSIM_BOX"}
    env["GPUSHIM_BUILD"] = str(BUILD)
    env["GPUSHIM_RECOVER"] = "own"  # what other tests leave in /dev/shm is theirs
    if sim:
        env["LD_LIBRARY_PATH"] = ":".join(filter(None, [str(SIM), env.get("LD_LIBRARY_PATH")]))
    env.update({name: str(value) for name, value in (knobs or {}).items()})
    return env


def run(cmd, knobs=None, sim=True, timeout=400, **options):
    """Runs to the end; returns the CompletedProcess with the output as text. Its returncode is not judged."""
    done = subprocess.run([str(word) for word in cmd], env=environment(knobs, sim), timeout=timeout,
                          text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, **options)
    report_schema.hold(cmd, done.stdout)
    return done


def read_truth(path):
    """The operations of a truth file, in the order in which the box wrote them."""
    rows = []
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        texts = line.split("\t")
        types = Operation.__annotations__.values()
        if len(texts) != len(types):
            raise ValueError(f"{path}: {len(texts)} fields instead of {len(types)}: {line!r}")
        rows.append(Operation(*(kind(text) for kind, text in zip(types, texts))))
    return rows


def read_counts(path):
    """{export: Count} of a .counts file; an empty name ends it."""
    counts = {}
    for name, *numbers in COUNT_RECORD.iter_unpack(pathlib.Path(path).read_bytes()):
        if not name.rstrip(b"\0"):
            break
        counts[name.rstrip(b"\0").decode()] = Count(*numbers)
    return counts
