"""GPUSHIM_METRICS: the file that a process keeps for Prometheus."""
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
import unittest

import box
import optional
from preload import PreloadCase, query, variables

WAITS = pathlib.Path(__file__).parent / "hang" / "waits.py"
PATIENCE_S = 300
AFTER_S = 3
SAMPLE = re.compile(r'(\w+)(?:\{(.*)\})? (\S+)')
COMMON = ("host", "rank", "pid", "job_id")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def samples(text):
    """{(name, labels but those that all have): value}"""
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = SAMPLE.fullmatch(line).groups()
        labels = dict(LABEL.findall(labels or ""))
        own = tuple(sorted(item for item in labels.items() if item[0] not in COMMON))
        found[name.removeprefix("gpushim_"), own] = float(value)
    return found


class Metrics(PreloadCase):
    def start(self, what="device", seconds=600, **knobs):
        """waits.py, which is killed at the end."""
        knobs = {**variables(self.folder), "GPUSHIM_METRICS": f"{self.folder}/m/%r.%q{{POD}}.prom",
                 "POD": "a", "RANK": 3, "WORLD_SIZE": 4, "SLURM_JOB_ID": 77, **knobs}
        job = subprocess.Popen([sys.executable, WAITS, what, str(seconds)], env=box.environment(knobs),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.stderr.close)
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)
        return job

    def until(self, condition):
        """What it returns once that is true."""
        end = time.monotonic() + PATIENCE_S
        while not (found := condition()):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        return found

    def text(self, name="m/3.a.prom"):
        try:
            return (self.folder / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""

    def value(self, name, **labels):
        return samples(self.text()).get((name, tuple(sorted(labels.items()))))

    def test_it_says_what_the_trace_says_and_is_written_again(self):
        job = self.start()
        self.until(lambda: self.value("operations_total", operation="launch") == 1)
        text = self.text()
        self.assertEqual(query(self.the_trace(), "SELECT count(*) FROM launch"), [(1,)])
        for line in text.splitlines():
            if not line.startswith("#"):
                labels = dict(LABEL.findall(line))
                self.assertEqual((labels["rank"], labels["job_id"], labels["pid"]), ("3", "77", str(job.pid)))
        self.assertNotIn("steps_total", text, "no step is marked: that is not 0 steps")
        self.assertEqual(self.value("hang"), 0)
        before = self.value("written_timestamp_seconds")
        self.until(lambda: (self.value("written_timestamp_seconds") or 0) > before)
        file, = (self.folder / "m").iterdir()
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)

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


if __name__ == "__main__":
    unittest.main()
