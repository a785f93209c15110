"""gpushim watch --metrics: the file that it keeps of a run for Prometheus, and what ends it."""
import collections
import json
import math
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
import unittest

import box
import cli
import optional
import preload
import prometheus_text
import three_ranks

PATIENCE_S, AFTER_S = three_ranks.PATIENCE_S, 3
WHEN = r"\(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\)"
PROMTOOL = shutil.which("promtool")
LOOP = box.ROOT / "examples" / "cases" / "loop.py"
# Steps that are longer from the 200th on; the last one does not end.
SLOWER = """
import pathlib
import time
from gpu import MS, block, train_step

def step(job):
    if job.number == 399:
        pathlib.Path({ready!r}).touch()
        time.sleep(3600)
    train_step(job.gpu, before=lambda: block((60 if job.number < 200 else 90) * MS))
"""


MEAN_RATE = """SELECT sum(bytes) * 1e9 / sum(transfer_ns) FROM collective_instance
WHERE op = 'allreduce' AND bytes > 1 << 20 AND transfer_ns IS NOT NULL"""


class Watching(three_ranks.Case):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "m" / "run.prom"
        self.file.parent.mkdir()

    def watch(self, *words):
        watcher = subprocess.Popen([cli.GPUSHIM, "watch", self.folder, "--metrics", self.file, *words],
                                   env=box.environment(sim=False), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(watcher.stdout.close)
        self.addCleanup(watcher.stderr.close)
        self.addCleanup(watcher.wait)
        self.addCleanup(watcher.kill)
        return watcher

    def until(self, condition):
        end = time.monotonic() + PATIENCE_S
        while not (found := condition()):
            self.assertLess(time.monotonic(), end, self.text())
            time.sleep(0.1)
        return found

    def text(self):
        try:
            return self.file.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""

    def value(self, name, **labels):
        return prometheus_text.value(self.text(), name, **labels)

    def of_job(self, ranks=2, **knobs):
        """train.py, until it is ended."""
        around = {"GPUSIM_DEVICES": ranks, "GPUSIM_NCCL_TIMEOUT_S": 600, "LD_PRELOAD": cli.LIBRARY,
                  "GPUSHIM_OUT": f"{self.folder}/%r.db", "SLURM_JOB_ID": 77, **knobs}
        job = subprocess.Popen(["python3", "-B", cli.TRAIN, "--ranks", str(ranks), "--steps", "10000000"],
                               env=box.environment(around), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
        self.addCleanup(job.wait)
        self.addCleanup(job.terminate)
        return job

    def test_it_says_what_only_reading_tells_and_goes_with_its_watcher(self):
        job = self.of_job()
        watcher = self.watch()
        self.until(lambda: self.value("collective_busbw_bytes_per_second", size="16777216") and
                   self.value("rank_step_seconds", rank="1") and self.value("gpu_power_watts", rank="0"))
        text = self.text()
        self.assertEqual(stat.S_IMODE(self.file.stat().st_mode), 0o600)
        self.assertEqual([file.name for file in self.file.parent.iterdir() if file.suffix == ".prom"],
                         ["run.prom"])
        parts, causes = collections.Counter(), collections.Counter()
        for name, labels, value in prometheus_text.samples(text):
            if "rank" in labels:
                self.assertEqual((labels["job_id"], bool(labels["host"])), ("77", True))
            if name == "gpu_share_ratio":
                parts[labels["rank"], labels["gpu"]] += value
                causes[labels["rank"], labels["gpu"]] -= value * (labels["part"] == "idle")
            if name == "gpu_idle_ratio":
                causes[labels["rank"], labels["gpu"]] += value
        self.assertEqual(len(parts), 2, text)
        for gpu, whole in parts.items():
            self.assertAlmostEqual(whole, 1, 5, gpu)
            self.assertAlmostEqual(causes[gpu], 0, 5, gpu)
        self.assertEqual(self.value("run_processes", state="running"), 2)
        self.assertEqual(self.value("run_hang"), 0)
        job.terminate()
        said, complaints = watcher.communicate(timeout=PATIENCE_S)
        self.assertEqual((watcher.returncode, complaints), (0, ""))
        self.assertRegex(said, rf"^ENDED    0 of 2 processes at work; died: rank 0, rank 1  {WHEN}\n$")
        self.assertEqual(list(self.file.parent.iterdir()), [])

    @unittest.skipUnless(PROMTOOL, optional.lacks("prometheus"))
    def test_promtool_has_nothing_against_it(self):
        self.of_job(SLURM_JOB_ID='a"b\\c')
        self.watch()
        self.until(lambda: self.value("collective_busbw_bytes_per_second", size="16777216"))
        done = subprocess.run([PROMTOOL, "check", "metrics"], input=self.text(), capture_output=True,
                              text=True, check=False)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_bandwidths_are_those_of_the_report(self):
        job = self.of_job(ranks=3)
        self.watch()
        of = {"collective": "ncclAllReduce", "size": "16777216", "ranks": "3"}
        self.until(lambda: self.value("collective_busbw_bytes_per_second", **of))
        text = self.text()
        algbw, busbw = (prometheus_text.value(text, f"collective_{name}_bytes_per_second", **of)
                        for name in ("algbw", "busbw"))
        self.assertAlmostEqual(busbw / algbw, 4 / 3, 6)  # nccl-tests' 2 (n - 1) / n
        job.terminate()
        job.wait()
        kinds = json.loads(box.run([cli.GPUSHIM, "report", self.folder, "--json"], sim=False).stdout)
        # Of one whose call was under way when the job ended, the bytes are not known.
        told, = (kind["algbw_bytes_per_s"] for kind in kinds["collectives"]
                 if kind["op"] == "allreduce" and (kind["bytes"] or 0) > 2**20)
        # It is of some of the transfers of the report, whose lengths on a busy machine are not alike.
        (mean,), = preload.query(self.folder / "gpushim.run.db", MEAN_RATE)
        for rate in (algbw, told):
            self.assertLess(abs(math.log2(rate / mean)), 1, (algbw, told, mean))

    def once(self, *words):
        done = box.run([cli.GPUSHIM, "watch", self.folder, "--once", "--metrics", self.file, *words],
                       sim=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_one_look_leaves_the_file_and_others_may_read_it_if_that_is_asked(self):
        self.start("sleeps")
        self.when_written()
        self.once("--after", "3600", "--metrics-mode", "644")
        self.assertEqual(stat.S_IMODE(self.file.stat().st_mode), 0o644)
        self.assertEqual(self.value("run_processes", state="died"), 0)

    def test_since_when_steps_are_longer_is_what_the_report_says(self):
        case, ready = self.folder / "case", self.folder / "ready"
        case.mkdir()
        (case / "case.py").write_text(SLOWER.format(ready=str(ready)), encoding="utf-8")
        knobs = {"LD_PRELOAD": cli.LIBRARY, "GPUSHIM_OUT": f"{self.folder}/0.db", "GPUSIM_CLOCK": "stepped"}
        job = subprocess.Popen([sys.executable, "-B", LOOP, case, "400"], env=box.environment(knobs),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)

        def changed():
            self.once("--after", "3600")
            return self.value("rank_changed_step")
        self.until(ready.exists)
        step = self.until(changed)
        ratio = self.value("rank_changed_ratio")
        job.kill()
        job.wait()
        report = box.run([cli.GPUSHIM, "report", self.folder, "--json"], sim=False)
        change, = json.loads(report.stdout)["changes"]
        self.assertEqual(step, change["step"])
        self.assertAlmostEqual(ratio, change["after_ns"] / change["before_ns"] - 1, 2)

    def test_a_hang_names_who_is_missing_and_the_file_goes_on(self):
        self.stop()
        watcher = self.watch("--after", str(AFTER_S))
        self.until(lambda: self.value("run_hang") == 1)
        self.assertEqual(self.value("rank_missing", rank="1"), 1)
        self.assertIsNone(self.value("rank_missing", rank="0"))
        self.until(lambda: self.value("rank_state", rank="1", state="silent") == 1)
        self.assertIsNone(watcher.poll(), "it goes on")
        self.ranks[1].send_signal(signal.SIGCONT)  # it sleeps on
        for job in self.ranks:
            job.kill()
        said, complaints = watcher.communicate(timeout=PATIENCE_S)
        self.assertEqual((watcher.returncode, complaints), (1, ""))
        self.assertTrue(said.startswith("HUNG     nothing moved for "), said)
        self.assertEqual(len(re.findall("^HUNG ", said, re.M)), 1, said)

    def test_who_never_came_has_a_line(self):
        self.start("absent", ranks=(0, 2))
        self.watch("--after", str(AFTER_S))
        self.until(lambda: self.value("run_hang") == 1)
        self.assertEqual(self.value("rank_missing", rank="1", job_id="7", folder=str(self.folder)), 1)
        self.assertIsNone(self.value("rank_missing", rank="0"))

    def test_a_hang_that_is_over_is_said(self):
        self.start("naps")
        self.when_written()  # all have come by then: who comes late is waited for, too
        watcher = self.watch("--after", str(AFTER_S))
        self.until(lambda: self.value("run_hang") == 1)
        self.assertEqual(self.value("rank_missing", rank="1"), 1)
        (self.folder / "ids" / "go").touch()
        self.until(lambda: self.value("run_hang") == 0)
        self.assertIsNone(self.value("rank_missing", rank="1"))
        for job in self.ranks:
            job.kill()
        hung, *_, moves, ended = watcher.communicate(timeout=PATIENCE_S)[0].splitlines()
        self.assertRegex(hung, rf"^HUNG     nothing moved for .* times the usual step  {WHEN}$")
        self.assertRegex(moves, rf"^MOVES    3 of 3 processes at work  {WHEN}$")
        self.assertRegex(ended, rf"^ENDED    0 of 3 .*  {WHEN}$")
        self.assertEqual(watcher.returncode, 1)

    def test_a_signal_takes_the_file_away(self):
        watcher = self.watch()  # before there is any trace
        self.until(self.text)
        self.assertEqual(self.value("run_processes", state="running"), 0)
        watcher.terminate()
        self.assertEqual(watcher.wait(PATIENCE_S), -signal.SIGTERM)
        self.assertEqual(list(self.file.parent.iterdir()), [])

    def test_a_place_that_is_lost_meanwhile_is_said_once(self):
        watcher = self.watch()
        self.until(self.text)
        shutil.rmtree(self.file.parent)
        self.assertRegex(watcher.stderr.readline(), r"^gpushim: cannot write \S+/m/run\.prom: No such file or"
                                                    r" directory; it is tried again\n$")
        self.file.parent.mkdir()
        self.until(self.text)
        watcher.terminate()
        self.assertEqual(watcher.stderr.read(), "")

    def test_places_that_are_none(self):
        pipe = self.folder / "pipe"
        box.run(["mkfifo", pipe], sim=False)
        for place, why in (("/dev/null", "is a device, a pipe or a socket; a file is needed"),
                           (pipe, "is a device, a pipe or a socket; a file is needed"),
                           (self.folder / "none" / "x.prom", "No such file or directory"),
                           (self.file.parent, "Is a directory")):
            done = box.run([cli.GPUSHIM, "watch", self.folder, "--metrics", place], sim=False)
            self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
            self.assertIn(f"{place}: {why}", done.stderr)
        self.assertIn("--metrics-mode 7: octal digits", self.gpushim(
            "watch", self.folder, "--metrics", self.file, "--metrics-mode", "7", expect=2).stderr)
        self.assertTrue(stat.S_ISFIFO(pipe.stat().st_mode))
