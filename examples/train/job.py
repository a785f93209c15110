"""Starts one process per rank, waits for them, and leaves none behind.

The first rank that fails ends the job with its exit code. SIGINT, SIGTERM and SIGHUP end all ranks; where
this process is killed outright, the kernel ends them (each asked it to).
"""
import contextlib
import ctypes
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time

_LAUNCHER = "TRAIN_LAUNCHER_PID"
_PR_SET_PDEATHSIG = 1
_POLL_S = 0.02
_GRACE_S = 5


class _Stopped(Exception):
    def __init__(self, signum):
        super().__init__(signum)
        self.exit_code = 128 + signum


def run(script, arguments, ranks):
    """The exit code of the job."""
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, _stop)
    # A name nobody can guess; the ranks make the file and remove it, so even a killed job seldom leaves it.
    id_file = os.path.join(tempfile.gettempdir(), f"train-{secrets.token_hex(16)}")
    processes = []
    try:
        for rank in range(ranks):
            environment = _rank_environment(rank, ranks, id_file)
            processes.append(subprocess.Popen([sys.executable, script, *arguments], env=environment))
        return _wait(processes)
    except _Stopped as stopped:
        return stopped.exit_code
    finally:
        _end(processes)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(id_file)


def _stop(signum, _frame):
    # Once is enough: a second one must not cut the cleaning up short.
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    raise _Stopped(signum)


def _rank_environment(rank, ranks, id_file):
    return {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks),
            "LOCAL_WORLD_SIZE": str(ranks), "TRAIN_ID_FILE": id_file, _LAUNCHER: str(os.getpid())}


def _wait(processes):
    while True:
        codes = [process.poll() for process in processes]
        for rank, code in enumerate(codes):
            if code and code < 0:
                print(f"train.py: rank {rank} was ended by {signal.Signals(-code).name}", file=sys.stderr)
            if code:
                return code if code > 0 else 128 - code
        if all(code == 0 for code in codes):
            return 0
        time.sleep(_POLL_S)


def _end(processes):
    running = [process for process in processes if process.poll() is None]
    for process in running:
        process.terminate()
    give_up = time.monotonic() + _GRACE_S
    while running and time.monotonic() < give_up:
        running = [process for process in running if process.poll() is None]
        time.sleep(_POLL_S)
    for process in running:
        process.kill()
        process.wait()


def follow_launcher():
    """For a rank: ends with its launcher and leaves Ctrl-C to it. Does nothing under another launcher."""
    launcher = os.environ.get(_LAUNCHER)
    if launcher is None:
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != int(launcher):  # it was gone before it could be watched
        sys.exit(1)
