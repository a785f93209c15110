"""What the rows of the GPU check stand on: which machine this is, and running programs with and without the
shim, within the time there is. As a program: prints the names of the GPUs here.

A row is a file of test/gpu/rows: `ORDER` (what matters most comes first), `LIMIT_S` (what it may take) and
`check(machine)`, which yields Rows. It raises Skip where the machine lacks what it needs, and AssertionError
(as `demand` does) where the shim is wrong.
"""
import contextlib
import ctypes
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# All that a row needs has one door.
from judging import OutOfTime, Row, Skip, demand, same  # noqa: F401
from traces import Trace, one  # noqa: F401

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
TRAIN = ROOT / "examples" / "train"
LIMIT_S = 150
HANGS = 5  # times as long under the shim is no lack of time
MOST_TEXT = 1 << 18  # of what a program printed


def _build():
    """The folder with what was built: the one that is named, or the one that is there."""
    named = os.environ.get("GPUSHIM_BUILD")
    folders = [ROOT / named] if named else [ROOT / "build", ROOT / "build" / "gpu-bundle"]
    return next((folder for folder in folders if (folder / "libgpushim.so").exists()), folders[0])


BUILD = _build()


def devices():
    """Names of the GPUs that the driver shows. To be called in a process of its own."""
    driver = ctypes.CDLL("libcuda.so.1")
    count, name = ctypes.c_int(), ctypes.create_string_buffer(256)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return []
    names = []
    for ordinal in range(count.value):
        driver.cuDeviceGetName(name, len(name), ordinal)
        names.append(name.value.decode())
    return names


class Machine:
    def __init__(self, library, rehearse=False):
        self.library = pathlib.Path(library).resolve()
        # The interpreter with PyTorch, CuPy, JAX in it, where it is not the one that runs this.
        self.python = os.environ.get("GPU_CHECK_PYTHON", sys.executable)
        self.until_s = float("inf")
        self.plain_s = 0.0  # the longest run without the shim since then
        self.more = {}      # variables for every program
        self.forget()
        self.simulated = False
        self.gpus = [] if rehearse else self._ask()
        if not self.gpus:
            self.simulated = True
            self.gpus = self._ask()
        demand(self.gpus, "no GPU, and no simulated box in", BUILD / "sim")
        self.simulated = self.gpus[0].startswith("Simulated ")
        self.forget()

    @property
    def undisturbed(self):
        """For a program whose output depends on how busy this machine is."""
        return {"GPUSIM_CLOCK": "stepped"} if self.simulated else {}

    def begin(self, seconds):
        """What is started from now on has to be over in so many seconds."""
        self.until_s, self.plain_s = time.monotonic() + seconds, 0.0

    def forget(self):
        """Nothing is left of what a row did."""
        if getattr(self, "work", None):
            shutil.rmtree(self.work, ignore_errors=True)
        self.work, self.runs, self.last = None, 0, None

    def folder(self):
        """A folder of this row's, until forget()."""
        self.work = self.work or tempfile.mkdtemp(prefix="gpushim-gpu-")
        return pathlib.Path(tempfile.mkdtemp(dir=self.work))

    def note(self, name, text):
        """A file for whoever looks into what went wrong."""
        self.work = self.work or tempfile.mkdtemp(prefix="gpushim-gpu-")
        (pathlib.Path(self.work) / name).write_text(text, encoding="utf-8", errors="replace")

    def left_s(self):
        return max(self.until_s - time.monotonic(), 0.0)

    def plain(self, command, **variables):
        begin_s = time.monotonic()
        done = self.run(command, variables)
        self.plain_s = max(self.plain_s, time.monotonic() - begin_s)
        return self._checked(command, done)

    def traced(self, command, reader=Trace, **variables):
        """The run under the shim, and its traces."""
        done, traces = self.traced_as_it_ends(command, reader, **variables)
        return self._checked(command, done), traces

    def traced_as_it_ends(self, command, reader=Trace, **variables):
        """... of a program that may end with any status."""
        folder = self.folder()
        more = {"LD_PRELOAD": self.library, "GPUSHIM_OUT": f"{folder}/%p.db", **variables}
        given_s = min(LIMIT_S, self.left_s())
        try:
            done = self.run(command, more)
        except OutOfTime as late:
            hangs = given_s > HANGS * self.plain_s if self.plain_s else given_s == LIMIT_S
            demand(not hangs, late, "under the shim; without it at most", f"{self.plain_s:.0f} s")
            raise
        traces = [reader(path) for path in sorted(folder.glob("*.db"))]
        return done, traces

    def same_with_and_without(self, command, **variables):
        """The traces of a run that printed the same as one without the shim."""
        without = self.plain(command, **variables)
        under, traces = self.traced(command, **variables)
        same(under.stdout, without.stdout, "what it prints")
        return under, traces

    def run(self, command, variables):
        """Whatever it ends with. What it started goes with it when the time is over."""
        limit_s = min(LIMIT_S, self.left_s())
        if limit_s < 1:
            raise OutOfTime("no time left")
        with subprocess.Popen([str(word) for word in command], env=self.environment(variables), text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              start_new_session=True) as child:
            try:
                out, err = child.communicate(timeout=limit_s)
            except BaseException as end:
                os.killpg(child.pid, signal.SIGKILL)
                if isinstance(end, subprocess.TimeoutExpired):
                    what = f"{pathlib.Path(str(command[-1])).name}: not over after {limit_s:.0f} s"
                    raise OutOfTime(what) from end
                raise
        self._keep(command, variables, child.returncode, out, err)
        return subprocess.CompletedProcess(command, child.returncode, out, err)

    def _keep(self, command, variables, status, out, err):
        self.runs += 1
        self.last = command, variables, status
        words = " ".join(str(word) for word in command)
        told = " ".join(f"{name}={text}" for name, text in {**variables, **self.more}.items())
        self.note(f"run-{self.runs:02}.txt", f"{told} {words}\nstatus {status}\n"
                  f"--- stderr\n{err[-MOST_TEXT:]}\n--- stdout\n{out[-MOST_TEXT:]}\n")

    def look_closer(self):
        """Where the last program was ended by a signal under the shim: once more, in a debugger."""
        names = "cuda-gdb", "/usr/local/cuda/bin/cuda-gdb", "gdb"
        debugger = next(filter(None, map(shutil.which, names)), None)
        if debugger is None or self.last is None or self.last[2] >= 0 or "LD_PRELOAD" not in self.last[1]:
            return
        command, variables, _ = self.last
        inside = [f"{name}={text}" for name, text in variables.items()]
        words = [debugger, "-batch", "-ex", f"set exec-wrapper env {shlex.join(inside)}", "-ex", "run", "-ex",
                 "thread apply all backtrace", "-ex", "info sharedlibrary", "--args", *command]
        with contextlib.suppress(OutOfTime):
            self.run(words, {})

    def report(self, *words):
        """What `gpushim report` says, with nothing of the box around it."""
        limit_s = min(LIMIT_S, self.left_s())
        try:
            return subprocess.run([BUILD / "gpushim", "report", *words], check=False, timeout=max(limit_s, 1),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True)
        except subprocess.TimeoutExpired as late:
            raise OutOfTime(f"gpushim report: not over after {limit_s:.0f} s") from late

    def _ask(self):
        done = self.run([sys.executable, "-B", __file__], {})
        return json.loads(done.stdout) if done.returncode == 0 else []

    def environment(self, variables):
        ours = ("GPUSHIM_", "GPUSIM_") if self.simulated else ("GPUSHIM_",)
        env = {name: text for name, text in os.environ.items()
               if not name.startswith(ours) or name in ("GPUSIM_BOX", "GPUSHIM_BUILD")}
        env["PYTHONFAULTHANDLER"] = "1"
        if self.simulated:
            env["LD_LIBRARY_PATH"] = f"{BUILD / 'sim'}:{env.get('LD_LIBRARY_PATH', '')}"
            env["GPUSIM_DEVICES"] = "2"
        env.update({name: str(text) for name, text in {**variables, **self.more}.items()})
        return env

    @staticmethod
    def _checked(command, done):
        demand(done.returncode == 0, command[-1], "ended with", done.returncode, done.stderr[-500:])
        return done


def printed_json(done):
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    print(json.dumps(devices()))
