"""Metrics are written down before each batch, which is there already: only the program's own range says that
this is no loading."""
import ctypes

from gpu import MS, advance, train_step

WRITING_NS = 3 * MS
program = ctypes.CDLL(None)


def in_range(name, work):
    """As NVTX does it; without the preload nobody is told."""
    is_told = hasattr(program, "gpushim_range_push")
    if is_told:
        program.gpushim_range_push(name)
    work()
    if is_told:
        program.gpushim_range_pop()


def step(job):
    if not job.fixed or job.number % 100 == 0:
        in_range(b"save metrics", lambda: advance(WRITING_NS))
    train_step(job.gpu)
