"""What looking costs: the hang alarm and the file for Prometheus in the library's writer, in turns with
neither; and `gpushim top` and `watch --metrics` beside 64 ranks that run."""
import os
import pathlib
import pty
import subprocess
import sys
import tempfile
import time
from statistics import median

import measure as bench
from measure import QUICK, Figure, Trace

RATE, SECONDS, TURNS = 20_000, 2 if QUICK else 5, 1 if QUICK else 5
RANKS, LOOK_S = (4, 3) if QUICK else (64, 20)
MOST_S = 120
GPUSHIM = bench.BUILD / "gpushim"
# Ten marked steps a second, of two kernels each.
LOOP = """
import ctypes, time
cuda, own = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL(None)
context, module, function = (ctypes.c_void_p() for _ in range(3))
one = [ctypes.c_uint(1)] * 6
assert not (cuda.cuInit(0) or cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) or
            cuda.cuModuleLoadData(ctypes.byref(module), b"an image") or
            cuda.cuModuleGetFunction(ctypes.byref(function), module, b"work__5000us"))
while True:
    own.gpushim_step()
    for _ in range(2):
        cuda.cuLaunchKernel(function, *one, 0, None, None, None)
    cuda.cuCtxSynchronize()
    time.sleep(0.09)
"""


def writer_share(**variables):
    trace = Trace("load", 1, RATE, SECONDS, **variables)
    return trace.printed["writer_ns"] / trace.printed["wall_ns"]


def in_the_writer():
    with tempfile.TemporaryDirectory(prefix="gpushim-bench-") as folder:
        ways = {"neither": {"GPUSHIM_HANG_AFTER": "0"}, "the hang alarm": {},
                "the alarm and metrics": {"GPUSHIM_METRICS": f"{folder}/%p.prom"}}
        found = bench.in_turns(TURNS, {name: lambda knobs=knobs: writer_share(**knobs)
                                       for name, knobs in ways.items()})
    without = median(found.pop("neither"))
    for name, shares in found.items():
        yield Figure(f"writer, {name} more than without", median(shares) - without, "processors",
                     at_most=None if QUICK else 0.005,
                     why=f"{RATE // 1000} k launches/s; median of {TURNS} in turns, {without:.4f} without")


class Ranks:
    """So many processes of one job, each with a simulated GPU."""

    def __init__(self, folder):
        self.jobs = []
        for rank in range(RANKS):
            around = {"LD_LIBRARY_PATH": bench.BOX, "LD_PRELOAD": bench.SHIM, "RANK": rank,
                      "WORLD_SIZE": RANKS, "SLURM_JOB_ID": 1, "GPUSHIM_OUT": f"{folder}/%r.db"}
            self.jobs.append(subprocess.Popen([sys.executable, "-I", "-S", "-c", LOOP],
                                              env={**os.environ, **{k: str(v) for k, v in around.items()}},
                                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for job in self.jobs:
            job.kill()
        for job in self.jobs:
            job.wait()


def processor_s(pid):
    """User and system time so far, of all its threads."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def looked(*words):
    """Milliseconds of a processor for each rank and second, on a terminal of its own."""
    terminal, side = pty.openpty()
    job = subprocess.Popen([str(word) for word in words], stdin=side, stdout=side, stderr=subprocess.DEVNULL,
                           env={**os.environ, "TERM": "xterm"})
    os.close(side)
    os.set_blocking(terminal, False)
    begin_s = time.monotonic()
    # Beside much else it may not come to one tick of the kernel's clock in that time.
    while (wall_s := time.monotonic() - begin_s) < LOOK_S or wall_s < MOST_S and processor_s(job.pid) == 0:
        time.sleep(0.1)
        try:
            os.read(terminal, 1 << 20)
        except BlockingIOError:
            pass
    used_s, wall_s = processor_s(job.pid), time.monotonic() - begin_s
    job.terminate()
    job.wait()
    os.close(terminal)
    return used_s * 1e3 / wall_s / RANKS


def beside():
    with tempfile.TemporaryDirectory(prefix="gpushim-bench-") as folder, Ranks(folder):
        begin_s = time.monotonic()
        while len(list(pathlib.Path(folder).glob("*.db"))) < RANKS:
            if time.monotonic() > begin_s + 120:
                raise RuntimeError("not all ranks have a trace")
            time.sleep(0.2)
        for name, words in (("top", ("top", folder)),
                            ("watch --metrics", ("watch", folder, "--metrics", f"{folder}/run.prom"))):
            yield Figure(f"{name}, a rank and second", looked(GPUSHIM, *words), "ms",
                         at_most=None if QUICK else 8,  # the first look costs more
                         why=f"of {RANKS} ranks that run, {LOOK_S} s of looks")


def measure():
    yield from in_the_writer()
    yield from beside()
