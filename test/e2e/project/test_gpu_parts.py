"""What scripts/gpu-check does beside judging: the rows that follow with what is left of the time, what it
tells of the machine, what a crash leaves, and that what it starts ends within the time that there is."""
import argparse
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tarfile
import time
import types
from unittest import mock

import box
import preload

CHECK = box.ROOT / "scripts" / "gpu-check"
sys.path[:0] = [str(box.ROOT / "test" / "gpu"), str(box.ROOT / "test" / "gpu" / "rows")]

import cupti  # noqa: E402
import evidence  # noqa: E402
import facts  # noqa: E402
import machine as m  # noqa: E402
import nvcc  # noqa: E402
import operations  # noqa: E402
import results  # noqa: E402

# What each fact looks like on a machine that can run the check.
TOLD = {
    "kernel": "^Linux-",
    "kernel_can": r"^MADV_WIPEONFORK: (yes|no), close_range\(UNSHARE\): (yes|no)$",
    "clocksource": r"^[a-z_\-]+$",
    "libc": r"^ldd \(.*\) 2\.\d+",
    "python": rf"^{sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}$",
    "programs": "^git: .*, nvcc: .*, cuda-gdb: .*nvidia-smi: ",
    "shared_memory": r"^\d+ of \d+ MiB free$",
    "environment": "(^| )NCCL_FACT=here( |$)",
    "libraries": r"(?m)^libc\.so\.6 .*=> /",
}
NOT_HERE = {"driver_parameters", "nvidia_smi"}  # files and programs of a machine with a GPU
# Of a program that is ended by a signal under the shim only; its stack has a name.
CRASHES = """
import os
def falls():
    if "LD_PRELOAD" in os.environ:
        os.kill(os.getpid(), 11)
falls()
"""
DEBUGGER = """#!/bin/sh
echo "#0  0x0000 in stand_in ()"
echo "told: $*"
"""
SLEEPS = "#!/bin/sh\nexec sleep 600\n"


def script():
    loader = importlib.machinery.SourceFileLoader("gpu_check", str(CHECK))
    found = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", loader))
    loader.exec_module(found)
    return found


def row(name, check, limit_s=60):
    found = types.ModuleType(name)
    found.ORDER, found.LIMIT_S, found.check = 1, limit_s, check
    return found


class GpuParts(preload.PreloadCase):
    def machine(self):
        found = m.Machine(preload.SHIM, rehearse=True)
        self.addCleanup(found.forget)
        return found

    def environment(self, **variables):
        changed = mock.patch.dict(os.environ, {name: str(text) for name, text in variables.items()})
        changed.start()
        self.addCleanup(changed.stop)

    def program(self, name, text):
        """One that is found before all others of that name."""
        place = self.folder / "bin" / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(text, encoding="utf-8")
        place.chmod(0o755)
        self.environment(PATH=f"{place.parent}:{os.environ['PATH']}")
        return place

    def test_the_next_rows_run_after_the_first_and_the_facts_are_in_the_results(self):
        env = {**os.environ, "GPU_CHECK_REHEARSE": "1", "NCCL_FACT": "here", "NCCL_TOKEN": "hidden"}
        words = [sys.executable, CHECK, "doors", "--then", "linked doors", "--json",
                 self.folder / "found.json"]
        done = subprocess.run(words, env=env, text=True, check=False, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        text = (self.folder / "found.json").read_text(encoding="utf-8")
        found = json.loads(text)
        ran = list(dict.fromkeys((one["row"], one["verdict"]) for one in found["rows"]))
        self.assertEqual(ran, [("doors", "ok"), ("linked", "ok")])
        self.assertEqual(set(found["machine"]), set(TOLD) | NOT_HERE)
        self.assertNotIn("hidden", text)
        for name, told in TOLD.items():
            if found["machine"][name] != "not told in time":  # a busy machine; the next test waits
                self.assertRegex(found["machine"][name], told)

    def test_every_fact_is_told_that_there_is(self):
        self.environment(NCCL_FACT="here", PATH="/usr/bin:/bin")  # as of somebody who is not root
        told = facts.told(seconds=120)
        for name, text in TOLD.items():
            self.assertRegex(told[name], text, name)

    def test_the_next_rows_have_what_is_left(self):
        gpu_check, machine, left = script(), self.machine(), {}

        def takes(name):
            def check(given):
                left[name] = given.left_s()
                yield m.Row(name, "right")
            return check
        chosen = [row("first", takes("first"), 10), row("then", takes("then"), 1000),
                  row("late", takes("late"))]
        asked = argparse.Namespace(seconds=100, slow=1, together=1, again=False)
        found = results.Results(machine, [], [one.__name__ for one in chosen])
        kept = evidence.Evidence(None)
        with mock.patch("builtins.print"):
            gpu_check.check(machine, chosen[:2], found, kept, asked, time.monotonic() - 40)
            gpu_check.check(machine, chosen[2:], found, kept, asked, time.monotonic() - 81)
        self.assertLessEqual(left["first"], 10)
        self.assertLessEqual(left["then"], 60)
        self.assertGreater(left["then"], 10)
        self.assertEqual([(one["row"], one["verdict"]) for one in found.rows],
                         [("first", "ok"), ("then", "ok"), ("late", "skipped")])

    def test_a_crash_leaves_the_stacks_that_were_to_be_had(self):
        self.program("cuda-gdb", DEBUGGER)
        machine = self.machine()

        def check(given):
            given.plain([sys.executable, "-c", CRASHES])
            given.traced([sys.executable, "-c", CRASHES])
            yield m.Row("never", "reached")
        kept = evidence.Evidence(self.folder / "evidence.tar")
        (verdict, *_, text, _), = script().judged(machine, row("crash", check), 60, 400, kept, True)
        self.assertEqual((verdict, "ended with -11" in text), ("WRONG", True), text)
        with tarfile.open(kept.file) as rows, tarfile.open(fileobj=rows.extractfile("crash.tar.gz")) as files:
            texts = [name for name in files.getnames() if name.endswith(".txt")]
            said = {name: files.extractfile(name).read().decode() for name in texts}
        crashed, debugged = said["run-02.txt"], said["run-03.txt"]
        self.assertIn("status -11\n", crashed)
        self.assertRegex(crashed, 'Fatal Python error: Segmentation fault\n(.*\n)*.*line 5 in falls\n')
        self.assertIn("#0  0x0000 in stand_in ()", debugged)
        self.assertRegex(debugged, rf"told: -batch -ex set exec-wrapper env LD_PRELOAD={preload.SHIM} .*"
                         f"-ex run -ex thread apply all backtrace .*--args {sys.executable} -c")
        self.assertRegex(said["run-05.txt"], "^LD_PRELOAD=.* GPUSHIM_LOG=debug ")  # the second turn

    def test_a_compiler_and_our_own_program_have_the_time_that_is_left(self):
        machine = self.machine()
        self.program("nvcc", SLEEPS)
        machine.begin(1.5)
        with self.assertRaisesRegex(m.OutOfTime, "^nvcc: not over after [12] s$"):
            with nvcc.compiled(machine, "runtime.cu"):
                self.fail("it was compiled")
        self.program("gpushim", SLEEPS)
        with mock.patch.object(m, "BUILD", self.folder / "bin"):
            machine.begin(1.5)
            with self.assertRaisesRegex(m.OutOfTime, "^gpushim report: not over after [12] s$"):
                machine.report("--json", self.folder)
        with mock.patch.object(operations, "BUILD", self.folder / "bin"):
            with self.assertRaisesRegex(m.OutOfTime, "^gpushim import: not over after 1 s$"):
                operations.of_profile(self.folder / "p.json", self.folder, 1)

    def test_the_cupti_of_the_interpreter_s_packages_is_shown_to_a_program_without_them(self):
        machine = self.machine()
        home = self.folder / "site" / "nvidia" / "cu13"
        self.environment(PYTHONPATH=home.parent.parent)
        home.mkdir(parents=True)
        self.assertEqual(cupti.packages(machine), {})  # a package that has no library
        (home / "lib").mkdir()
        self.assertEqual(cupti.packages(machine), {"CUDA_HOME": home})
        cupti.driver_graphs(machine)
        told = sorted(pathlib.Path(machine.work).glob("run-*.txt"))[-1].read_text(encoding="utf-8")
        self.assertRegex(told, f"^LD_PRELOAD=.* GPUSHIM_DEVICE_TIME=cupti CUDA_HOME={home} ")
