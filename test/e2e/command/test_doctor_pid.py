"""gpushim doctor --pid, and report, of a job of two ranks that runs, and that hangs as one was stopped."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import box
import cli

TRAIN = box.ROOT / "examples" / "train" / "train.py"
PATIENCE_S = 120


def is_alive(pid):
    """One that has ended and that nobody has asked for its code writes nothing any more; but its first thread
    may have ended before the others."""
    here = pathlib.Path(f"/proc/{pid}")
    try:
        has_ended = (here / "stat").read_text("utf-8").rpartition(")")[2].split()[0] == "Z"
        return not has_ended or len(list((here / "task").iterdir())) > 1
    except OSError:
        return False


class Running(cli.Case):
    def setUp(self):
        super().setUp()
        knobs = {"GPUSIM_DEVICES": 2, "GPUSIM_NCCL_TIMEOUT_S": 600, "GPUSHIM_OUT": f"{self.folder}/%r.db",
                 "LD_PRELOAD": box.BUILD / "libgpushim.so"}
        self.job = subprocess.Popen([sys.executable, "-B", TRAIN, "--ranks", "2", "--steps", "1000000"],
                                    env=box.environment(knobs), stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL, start_new_session=True)
        self.addCleanup(self.end)
        self.seen = {"processes": []}
        self.seen = self.when(lambda said: len(said.get("processes", [])) == 2)

    def end(self):
        """The ranks, too, which are children of the job: until they have ended they write into the folder."""
        os.killpg(self.job.pid, signal.SIGKILL)
        self.job.wait()
        until_s = time.monotonic() + PATIENCE_S
        while any(is_alive(process["pid"]) for process in self.seen["processes"]):
            self.assertLess(time.monotonic(), until_s, self.seen)
            time.sleep(0.05)

    def ask(self):
        done = box.run([box.BUILD / "gpushim", "doctor", "--json", "--pid", self.job.pid], sim=False)
        return done.returncode, json.loads(done.stdout or "{}")

    def when(self, is_so, code=None):
        """What is said when that is so, which it will be."""
        until_s = time.monotonic() + PATIENCE_S
        while True:
            status, said = self.ask()
            if is_so(said) and code in (None, status):
                return said
            self.assertLess(time.monotonic(), until_s, said)
            time.sleep(0.2)

    def rank(self, number):
        return next(process["pid"] for process in self.seen["processes"]
                    if process["trace"].endswith(f"{number}.db"))

    def test_a_rank_that_is_stopped_is_named_and_the_job_goes_on_unharmed(self):
        self.when(lambda said: said["step_median_ns"] and said["hang"]["for_ns"] is None, code=0)
        os.kill(self.rank(1), signal.SIGSTOP)
        said = self.when(lambda said: said["hang"]["for_ns"] is not None, code=1)
        self.assertEqual([rank["rank"] for rank in said["hang"]["waiting"]], [0], said)
        missing, = said["hang"]["missing"]
        self.assertEqual((missing["rank"], missing["is_silent"]), (1, True), said)
        waiting, stopped = sorted(said["processes"], key=lambda process: process["trace"])
        self.assertIn("stopped", [thread["state"] for thread in stopped["threads"]], said)
        calls = [thread for thread in waiting["threads"] if thread["call"]]
        self.assertTrue(calls and min(thread["call_for_ns"] for thread in calls) > 1e9, said)

        shown = box.run([box.BUILD / "gpushim", "doctor", "--pid", self.rank(0)], sim=False)
        self.assertEqual(shown.returncode, 1, shown.stderr)
        self.assertRegex(shown.stdout, r"^HUNG     nothing moved for [\d.]+ s, \d+ times the usual step\n"
                                       r" +rank 1 .*; its process has been stopped, or is gone\n"
                                       r" +rank 0 waits in ")
        self.assertRegex(shown.stdout, rf"\nthread   {self.rank(0)} python\S*: .*; in \w+ for [\d.]+ s\n")
        report = box.run([box.BUILD / "gpushim", "report", self.folder], sim=False)
        self.assertEqual((report.returncode, report.stdout[:15]), (1, "VERDICT  hung: "), report.stderr)

        os.kill(self.rank(1), signal.SIGCONT)
        self.when(lambda said: said["hang"]["for_ns"] is None, code=0)
        self.assertIsNone(self.job.poll())


class NotSeen(cli.Case):
    def refused(self, pid):
        done = box.run([box.BUILD / "gpushim", "doctor", "--pid", pid], sim=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        return done.stderr

    def test_why_is_said(self):
        self.assertIn("process 999999999: there is none", self.refused(999999999))
        self.assertIn("--pid x: the number of a process was expected", self.refused("x"))
        self.assertIn("runs without the library: start it with `gpushim run`", self.refused(os.getpid()))
        env = {**os.environ, "LD_PRELOAD": str(box.BUILD / "libgpushim.so")}
        with subprocess.Popen(["sleep", "100"], env=env) as idle:
            self.addCleanup(idle.kill)
            try:
                until_s = time.monotonic() + PATIENCE_S
                while "runs without" in (said := self.refused(idle.pid)) and time.monotonic() < until_s:
                    time.sleep(0.05)  # it is not loaded yet
            finally:
                idle.kill()
        self.assertIn("has made no CUDA context", said)
