"""Loaders use the processor that the launching thread runs on; in real time, for only there threads queue
for one. At its end it says for how long of a step the thread did, as the kernel counts: other programs of
the machine are in that, too."""
import json
import os
import pathlib
import subprocess
import sys
import time

from gpu import MS, train_step

LOADERS = 7
PYTHON_NS = 15 * MS  # the launching thread's own work in a step
WARM_UP = 2  # steps that no figure is of
BUSY = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): pass"


def queued_ns():
    """How long this thread has waited for a processor in its life."""
    return int(pathlib.Path("/proc/thread-self/schedstat").read_text(encoding="ascii").split()[1])


def setup(job):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    job.made["loaders"] = [] if job.fixed else [
        subprocess.Popen([sys.executable, "-c", BUSY, str(os.getpid())], env={}) for _ in range(LOADERS)]


def step(job):
    if job.number == WARM_UP:
        job.made["queued_ns"] = queued_ns()
    train_step(job.gpu, between=work)


def work():
    end_ns = time.thread_time_ns() + PYTHON_NS
    while time.thread_time_ns() < end_ns:
        pass


def finish(job):
    queued = queued_ns() - job.made["queued_ns"]
    for loader in job.made["loaders"]:
        loader.kill()
        loader.wait()
    print(json.dumps({"host_contention": queued // (job.number + 1 - WARM_UP)}))
