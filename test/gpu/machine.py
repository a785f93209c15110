"""What the rows of the GPU check stand on: which machine this is, running programs with and without the shim,
and reading traces. As a program: prints the names of the GPUs here.

A row is a file of test/gpu/rows with a function `check(machine)` that yields Rows; it raises Skip where the
machine lacks what it needs, and AssertionError (as `demand` does) where the shim is wrong.
"""
import ctypes
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / os.environ.get("GPUSHIM_BUILD", "build")
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
TRAIN = ROOT / "examples" / "train"
LIMIT_S = 150


class Skip(Exception):
    """The machine lacks what this row needs."""


class Row(NamedTuple):
    what: str
    found: str


def demand(condition, *what):
    if not condition:
        raise AssertionError(" ".join(map(str, what)))


def same(found, expected, what):
    demand(found == expected, f"{what}: {found}, expected {expected}")


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
        self.simulated = False
        self.gpus = [] if rehearse else self._ask()
        if not self.gpus:
            self.simulated = True
            self.gpus = self._ask()
        demand(self.gpus, "no GPU, and no simulated box in", BUILD / "sim")
        self.simulated = self.gpus[0].startswith("Simulated ")

    @property
    def undisturbed(self):
        """For a program whose output depends on how busy this machine is."""
        return {"GPUSIM_CLOCK": "stepped"} if self.simulated else {}

    def _ask(self):
        done = self._start([sys.executable, "-B", __file__], {})
        return json.loads(done.stdout) if done.returncode == 0 else []

    def _start(self, command, variables):
        ours = ("GPUSHIM_", "GPUSIM_") if self.simulated else ("GPUSHIM_",)
        env = {name: text for name, text in os.environ.items()
               if not name.startswith(ours) or name in ("GPUSIM_BOX", "GPUSHIM_BUILD")}
        if self.simulated:
            env["LD_LIBRARY_PATH"] = f"{BUILD / 'sim'}:{env.get('LD_LIBRARY_PATH', '')}"
            env["GPUSIM_DEVICES"] = "2"
        env.update({name: str(text) for name, text in variables.items()})
        return subprocess.run([str(word) for word in command], env=env, text=True, check=False,
                              timeout=LIMIT_S, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)

    def plain(self, command, **variables):
        return self._checked(command, self._start(command, variables))

    def traced(self, command, **variables):
        """The run under the shim, and its traces."""
        with tempfile.TemporaryDirectory(prefix="gpushim-gpu-") as folder:
            more = {"LD_PRELOAD": self.library, "GPUSHIM_OUT": f"{folder}/%p.db", **variables}
            done = self._checked(command, self._start(command, more))
            traces = [Trace(path) for path in sorted(pathlib.Path(folder).glob("*.db"))]
        return done, traces

    def same_with_and_without(self, command, **variables):
        """The traces of a run that printed the same as one without the shim."""
        without = self.plain(command, **variables)
        under, traces = self.traced(command, **variables)
        same(under.stdout, without.stdout, "what it prints")
        return under, traces

    @staticmethod
    def _checked(command, done):
        demand(done.returncode == 0, command[-1], "ended with", done.returncode, done.stderr[-500:])
        return done


class Trace:
    """What the check wants to know of a trace; read before its folder goes."""

    def __init__(self, path):
        base = sqlite3.connect(path)
        rows = lambda sql: base.execute(sql).fetchall()  # noqa: E731
        self.kernels = dict(rows("SELECT kernel, sum(launches) FROM v_kernel_total GROUP BY kernel"))
        self.copies = {kind: (count, size) for kind, count, size in rows(
            "SELECT kind, sum(copies), sum(bytes) FROM v_copy_total GROUP BY kind")}
        self.calls = dict(rows("SELECT api, calls FROM v_api_total"))
        self.memsets = rows("SELECT count(*), sum(bytes) FROM memset WHERE flags & 7 = 0")[0]
        self.collectives = dict(rows("SELECT api, sum(calls) FROM v_collective_total GROUP BY api"))
        self.recorded, self.dropped, self.unknown = rows("SELECT recorded, dropped, unknown FROM v_ledger")[0]
        self.operations, self.timed = rows("SELECT total(operations), total(timed) FROM window")[0]
        (self.timed_launches, self.queued, self.likely_ns), = rows(
            "SELECT count(*), total(e.queued), max(e.likely_ns) FROM launch_device d "
            "JOIN level_error e ON e.id = d.level_error_id")
        self.timed_share = self.timed_launches / max(sum(self.kernels.values()), 1)
        self.refusals = rows("SELECT api, error, why FROM refusal")
        # The newest that is known of each.
        self.clock = {name: next((value for value, in rows(
            f"SELECT {name} FROM device_clock WHERE {name} NOT NULL ORDER BY mono_ns DESC LIMIT 1")), None)
            for name in ("error_ns", "event_ns", "record_ns", "latency_ns", "latency_spread_ns")}
        self.cost = dict(zip(("span_ns", "busiest_ns", "writer_cpu_ns"), rows(
            "SELECT total(span_ns), total(busiest_ns), total(writer_cpu_ns) FROM cost")[0]))
        base.close()

    def demand_whole(self):
        demand(self.recorded > 0, "nothing was recorded")
        same((self.dropped, self.unknown), (0, 0), "dropped and unknown events")


def one(traces):
    same(len(traces), 1, "traces")
    traces[0].demand_whole()
    return traces[0]


def printed_json(done):
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    print(json.dumps(devices()))
