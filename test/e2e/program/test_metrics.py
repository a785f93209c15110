"""GPUSHIM_METRICS: the file that a process keeps for Prometheus."""
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import time
import unittest

import box
import optional
import prometheus_text
from beside import PATIENCE_S, BesideCase
from preload import query, variables

WAITS = pathlib.Path(__file__).parent / "hang" / "waits.py"
AFTER_S = 3
# Two launches on the first device, in a context that was made, and three on the second, in its primary one.
ON_TWO_GPUS = """
from ctypes import CDLL, byref, c_uint, c_void_p
import sys
cuda, one = CDLL("libcuda.so.1"), c_uint(1)
def launch(times):
    module, function = c_void_p(), c_void_p()
    cuda.cuModuleLoadData(byref(module), b"an image")
    cuda.cuModuleGetFunction(byref(function), module, b"work__1us")
    for _ in range(times):
        assert cuda.cuLaunchKernel(function, one, one, one, one, one, one, 0, None, None, None) == 0
first, second = c_void_p(), c_void_p()
assert cuda.cuInit(0) == cuda.cuCtxCreate_v2(byref(first), 0, 0) == 0
launch(2)
assert cuda.cuDevicePrimaryCtxRetain(byref(second), 1) == cuda.cuCtxSetCurrent(second) == 0
launch(3)
sys.stdin.read()
"""

# Three steps of 64 samples, one that does not say how many, and one that has not ended.
MARKS_STEPS = """
from ctypes import CDLL, byref, c_uint64, c_void_p
import sys
cuda, marks, context = CDLL("libcuda.so.1"), CDLL(None), c_void_p()
assert cuda.cuInit(0) == cuda.cuCtxCreate_v2(byref(context), 0, 0) == 0
for _ in range(3):
    marks.gpushim_step_n(c_uint64(64))
marks.gpushim_step()
marks.gpushim_step_n(c_uint64(1000))
sys.stdin.read()
"""


class Metrics(BesideCase):
    def start(self, what="device", seconds=600, **knobs):
        """waits.py, which is killed at the end."""
        return self.beside([sys.executable, WAITS, what, seconds], **{
            "GPUSHIM_METRICS": f"{self.folder}/m/%r.%q{{POD}}.prom", "POD": "a", "RANK": 3,
            "WORLD_SIZE": 4, "SLURM_JOB_ID": 77, **knobs})

    def start_source(self, source, **knobs):
        """Python; it is killed at the end."""
        knobs = {**variables(self.folder), "GPUSHIM_METRICS": f"{self.folder}/m/3.a.prom", **knobs}
        job = subprocess.Popen([sys.executable, "-c", source], env=box.environment(knobs),
                               stdin=subprocess.PIPE)
        self.addCleanup(job.stdin.close)
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)

    def text(self, name="m/3.a.prom"):
        try:
            return (self.folder / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""

    def value(self, name, **labels):
        return prometheus_text.value(self.text(), name, **labels)

    def test_it_says_what_the_trace_says_and_is_written_again(self):
        job = self.start()
        self.until(lambda: self.value("operations_total", operation="launch") == 1)
        text = self.text()
        self.assertEqual(query(self.the_trace(), "SELECT count(*) FROM launch"), [(1,)])
        for _, labels, _ in prometheus_text.samples(text):
            self.assertEqual((labels["rank"], labels["job_id"], labels["pid"]), ("3", "77", str(job.pid)))
        self.assertNotIn("steps_total", text, "no step is marked: that is not 0 steps")
        self.assertEqual(self.value("hang"), 0)
        before = self.value("written_timestamp_seconds")
        self.until(lambda: (self.value("written_timestamp_seconds") or 0) > before)
        file, = (self.folder / "m").iterdir()
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)

    def test_operations_are_those_of_the_gpu_that_the_thread_was_on(self):
        self.start_source(ON_TWO_GPUS, GPUSIM_DEVICES=2, POD_NAME="train-0")
        gpus = self.until(lambda: {
            labels["device"]: labels["gpu"] for name, labels, _ in prometheus_text.samples(self.text())
            if name == "gpu_info"})
        for device, launches in (("0", 2), ("1", 3)):
            self.until(lambda gpu=gpus[device], of=launches: self.value(
                "operations_total", operation="launch", gpu=gpu, pod="train-0") == of)
        self.assertEqual(len(prometheus_text.values(self.text(), "operations_total", operation="launch")), 2)
        self.assertEqual(query(self.the_trace(), "SELECT value FROM meta WHERE key = 'pod'"), [("train-0",)])

    def test_samples_are_of_the_steps_that_have_ended(self):
        self.start_source(MARKS_STEPS)
        self.until(lambda: self.value("steps_total") == 4)
        self.assertEqual(self.value("step_samples_total"), 3 * 64)
        silent = MARKS_STEPS.replace("_step_n(c_uint64(64))", "_step()").replace("_n(c_uint64(1000))", "()")
        self.start_source(silent,
                          GPUSHIM_METRICS=f"{self.folder}/m/none.prom")
        text = self.until(lambda: "steps_total" in self.text("m/none.prom") and self.text("m/none.prom"))
        self.assertNotIn("step_samples_total", text)

    @unittest.skipUnless(shutil.which("promtool"), optional.lacks("prometheus"))
    def test_promtool_has_nothing_against_it(self):
        self.start(SLURM_JOB_ID='a"b\\c')
        text = self.until(self.text)
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_others_may_read_it_if_that_is_asked(self):
        self.start(GPUSHIM_METRICS_MODE="0644")
        self.until(self.text)
        self.assertEqual(stat.S_IMODE((self.folder / "m/3.a.prom").stat().st_mode), 0o644)

    def test_it_goes_when_the_process_ends_and_stays_when_it_is_killed(self):
        job = self.start(seconds=4)
        self.until(self.text)
        self.assertEqual(job.communicate(timeout=PATIENCE_S), ("waits\nover\n", ""))
        self.assertEqual(list((self.folder / "m").iterdir()), [])
        job = self.start()
        self.until(self.text)
        job.send_signal(signal.SIGKILL)
        job.wait()
        self.assertIn("gpushim_written_timestamp_seconds", self.text())

    def test_a_hang_shows(self):
        self.start(GPUSHIM_HANG_AFTER=AFTER_S)
        self.until(lambda: self.value("hang") == 1)
        self.assertNotIn("gpushim_hang", self.off_text())

    def off_text(self):
        self.start(GPUSHIM_HANG_AFTER=0, POD="off")
        return self.until(lambda: self.text("m/3.off.prom"))

    def test_a_stopped_process_is_one_whose_file_gets_old(self):
        job = self.start()
        self.until(self.text)
        job.send_signal(signal.SIGSTOP)
        os.waitpid(job.pid, os.WUNTRACED)
        before = self.text()
        time.sleep(5)
        self.assertEqual(self.text(), before)
        job.send_signal(signal.SIGCONT)
        self.until(lambda: self.text() not in ("", before))

    def test_a_place_that_cannot_be_written_is_said_once_and_the_program_goes_on(self):
        job = self.start(seconds=6, GPUSHIM_METRICS=f"{self.folder}/m/%q{{POD}}.prom")
        self.until(lambda: self.text("m/a.prom"))
        (self.folder / "m/a.prom").unlink()
        (self.folder / "m/a.prom").mkdir()
        said, complaints = job.communicate(timeout=PATIENCE_S)
        self.assertEqual(said, "waits\nover\n")
        self.assertRegex(complaints, r"\Agpushim: cannot write \S+/m/a\.prom \(Is a directory\);"
                                     r" it is tried again\n\Z")

    def test_nothing_is_written_without_a_context(self):
        knobs = {**variables(self.folder), "GPUSHIM_METRICS": f"{self.folder}/m/"}
        done = box.run([sys.executable, "-c", "print(1)"], knobs, cwd=self.folder)
        self.assertEqual((done.returncode, (self.folder / "m").exists()), (0, False))
