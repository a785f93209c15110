"""gpushim watch: which of three ranks is missing, and why; and what it says of jobs that do not hang."""
import json
import pathlib
import re
import time

import box
import cli
from pairs import pairs
import three_ranks

PATIENCE_S = three_ranks.PATIENCE_S
AFTER_S = 3
UID = "[0-9a-f]{8}"
BEHIND = (rf"rank 1 has not called ncclAllReduce 41 of communicator {UID} \(3 ranks\), in which ranks 0, 2"
          r" wait; its last is 40;")


class Hanging(three_ranks.Case):
    def until(self, is_so):
        end = time.monotonic() + PATIENCE_S
        while not is_so():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def watched(self, *words, expect=1):
        done = box.run([cli.GPUSHIM, "watch", self.folder, "--after", AFTER_S, *words], sim=False,
                       timeout=PATIENCE_S)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stdout

    def missing(self, what, text, **facts):
        self.start(what)
        self.is_missing(text, **facts)

    def is_missing(self, text, **facts):
        """The one who is missing, as lines and as JSON say it."""
        said = self.watched()
        nothing, missing, *waiting = said.splitlines()
        self.assertRegex(nothing, r"^HUNG     nothing moved for \d+\.?\d* s, \d+ times the usual step$")
        self.assertRegex(missing, rf"^ +{text}$")
        for line, rank in pairs(waiting, (0, 2)):
            self.assertRegex(line, rf"^ +rank {rank} waits in cuStreamSynchronize for ")
        began_s = time.time()
        answer = json.loads(self.watched("--json"))
        hang = answer["hang"]
        self.assertTrue(began_s <= answer["unix_ns"] / 1e9 <= time.time(), answer)
        self.assertGreater(hang["usual_steps"], 1)
        one, = hang["missing"]
        self.assertEqual({key: one[key] for key in facts}, facts)
        self.assertEqual([rank["rank"] for rank in hang["waiting"]], [0, 2])
        self.assertEqual((one["rank"], hang["collective"], hang["mismatch"]), (1, 41, None))

    def test_a_rank_that_is_stopped(self):
        self.stop()
        self.is_missing(rf"{BEHIND} has made no call for .*; its process is stopped, and what it did last may"
                        " not be written", process="stopped", is_silent=True)

    def test_a_rank_that_is_stopped_before_it_has_written(self):
        """It stops at once: a second later its first rows would be there, however few they are."""
        self.start("stops", GPUSHIM_DEVICE_TIME="off")
        self.until(lambda: all((self.folder / f"{rank}.db").exists() for rank in range(3)) and
                   re.search(r"\) T ", pathlib.Path(f"/proc/{self.ranks[1].pid}/stat").read_text("utf-8")))
        _, missing, *waiting = self.watched().splitlines()
        self.assertRegex(missing, r"^ +rank 1 has written nothing yet; its process is stopped, ")
        for line in waiting:
            self.assertRegex(line, r"^ +rank [02] waits in ncclCommInitRank for ")
        one, = json.loads(self.watched("--json"))["hang"]["missing"]
        self.assertEqual((one["rank"], one["process"], one["for_ns"], one["is_behind"]),
                         (1, "stopped", None, False))

    def test_a_rank_that_loops_on_its_processor(self):
        self.missing("loops", rf"{BEHIND} has made no call for .* s, the last was \w+, at \S+/rank\.py:\d+"
                     " loops", process="runs", is_silent=False)

    def test_a_rank_that_was_killed(self):
        self.missing("dies", rf"{BEHIND} has made no call for .*; its process is gone", process="gone")

    def test_a_rank_that_has_ended(self):
        self.missing("leaves", rf"{BEHIND} has ended", has_ended=True)

    def test_a_rank_in_another_communicator(self):
        self.missing("elsewhere", rf"{BEHIND} has called ncclAllReduce 1 of communicator {UID} instead;"
                                  r" has been in cuStreamSynchronize for .*", process="runs", is_behind=True)

    def unlike(self, what, text):
        """All have come, and none of them gets on."""
        self.start(what, GPUSIM_NCCL_UNLIKE=1)
        nothing, *lines = self.watched().splitlines()
        self.assertRegex(nothing, r"^HUNG     nothing moved for \d+\.?\d* s, \d+ times the usual step$")
        self.assertRegex("\n".join(lines), rf"(?m)^ +{text}")
        calls = json.loads(self.watched("--json"))["hang"]["mismatch"]["calls"]
        self.assertEqual([call["who"] for call in calls], [["rank 0", "rank 2"], ["rank 1"]])

    def test_a_rank_in_another_collective(self):
        self.unlike("roots", rf"rank 1 called ncclBroadcast of 4 B with root 1 as number 41 of communicator"
                    rf" {UID} \(3 ranks\), ranks 0, 2 called ncclAllReduce of 4 B: these cannot meet$")

    def test_a_rank_that_reduces_another_size(self):
        self.unlike("smaller", rf"rank 1 called ncclAllReduce of 8 B as number 41 of communicator {UID}"
                    r" \(3 ranks\), ranks 0, 2 called ncclAllReduce of 4 B: these cannot meet$")

    def test_a_rank_that_was_never_started(self):
        self.start("absent", ranks=(0, 2))
        *_, absent = self.watched().splitlines()
        self.assertRegex(absent, r"^ +rank 1 of 3 has no trace here$")
        self.assertEqual(json.loads(self.watched("--json"))["hang"]["absent"], [1])

    def test_a_rank_that_does_not_come_to_the_communicator(self):
        self.start("absent")
        _, missing, *waiting = self.watched().splitlines()
        self.assertRegex(missing, r"^ +rank 1 has made no call for .* s, the last was \w+, at"
                         r" \S+/rank\.py:\d+ sleeps$")
        for line in waiting:
            self.assertRegex(line, r"^ +rank [02] waits in ncclCommInitRank for ")

    def test_each_process_says_it_and_the_report_does(self):
        command = f"cat > {self.folder}/$GPUSHIM_HANG_PID"
        self.stop(GPUSHIM_HANG_AFTER=AFTER_S, GPUSHIM_ON_HANG=command)
        said = [self.folder / str(self.ranks[rank].pid) for rank in (0, 2)]
        until = time.monotonic() + PATIENCE_S
        while not all(file.exists() and file.read_bytes().endswith(b"}\n") for file in said):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.1)
        for file, rank in zip(said, (0, 2)):
            verdict = json.loads(file.read_bytes())
            self.assertEqual((verdict["rank"], verdict["job"]), (rank, "7"))
        self.assertFalse((self.folder / str(self.ranks[1].pid)).exists())
        for job in self.ranks:
            job.kill()
        for job in self.ranks:
            job.wait()
        report = box.run([cli.GPUSHIM, "report", self.folder], sim=False)
        self.assertEqual(report.returncode, 1, report.stderr)
        shown = report.stdout.replace("\n          ", " ")  # lines that go on
        self.assertRegex(shown, rf"\n +{BEHIND} has made no call for ")

    def test_once_of_a_job_that_moves_and_of_one_that_has_ended(self):
        self.start("sleeps")
        until = time.monotonic() + PATIENCE_S
        while (said := self.moving()) != "MOVES    3 of 3 processes at work\n":
            self.assertLess(time.monotonic(), until, said)
            time.sleep(0.1)
        for job in self.ranks:
            job.kill()
        for job in self.ranks:
            job.wait()
        self.assertRegex(self.watched(expect=0), r"^ENDED    0 of 3 processes at work;"
                         r" died: rank 0, rank 1, rank 2\n$")

    def moving(self):
        done = box.run([cli.GPUSHIM, "watch", "--once", "--after", 3600, self.folder], sim=False)
        return done.stdout


class Refused(cli.Case):
    def test_words(self):
        self.assertIn("which folder?", self.gpushim("watch", expect=2).stderr)
        self.assertIn("none: not a folder", self.gpushim("watch", self.folder / "none", expect=2).stderr)
        self.assertIn("--after x: a number of seconds was expected",
                      self.gpushim("watch", self.folder, "--after", "x", expect=2).stderr)
        self.assertIn("no trace to read", self.gpushim("watch", self.folder, "--once", expect=2).stderr)
