"""gpushim top: of a job that runs, of one that ended, on terminals of several kinds."""
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

import box
import cli
import optional
import terminal

PATIENCE_S = 300
SHORT = ["--steps", "150"]


def until(is_so, ask):
    """What is answered when that is so, which it will be."""
    end_s = time.monotonic() + PATIENCE_S
    while True:
        answer = ask()
        if is_so(answer):
            return answer
        if time.monotonic() > end_s:
            raise AssertionError(answer)
        time.sleep(0.1)


class Running(cli.Case):
    """A job of two ranks that goes on until it is ended."""

    def start(self, *words, **knobs):
        around = {"GPUSIM_DEVICES": 2, "GPUSIM_NCCL_TIMEOUT_S": 600, "LD_PRELOAD": cli.LIBRARY,
                  "GPUSHIM_OUT": f"{self.folder}/%r.db", **knobs}
        self.job = subprocess.Popen([sys.executable, "-B", cli.TRAIN, "--ranks", "2", *words],
                                    env=box.environment(around), stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(self.job.stdout.close)
        self.addCleanup(self.job.wait)
        self.addCleanup(self.job.terminate)

    def look(self, where=None):
        done = box.run([cli.GPUSHIM, "top", "--once", "--json", where or self.folder], sim=False)
        return json.loads(done.stdout) if done.returncode == 0 else {"ranks": [], "said": done.stderr}

    def when(self, is_so, where=None):
        return until(lambda said: len(said["ranks"]) == 2 and is_so(said), lambda: self.look(where))

    def has_shares(self, said):
        return all(gpu["idle_share"] is not None for rank in said["ranks"] for gpu in rank["gpus"])

    def test_what_a_job_does_is_seen_while_it_runs(self):
        self.start("--steps", "1000000", "--slow-rank", "1")
        # Beside other programs a single window may tell otherwise.
        said = self.when(lambda said: self.has_shares(said) and
                         (said["slowest_trace"] or "").endswith("/1.db") and
                         all(rank["step_median_ns"] for rank in said["ranks"]))
        self.assertEqual([rank["rank"] for rank in said["ranks"]], [0, 1])
        self.assertTrue(said["simulated"])
        for rank in said["ranks"]:
            self.assertEqual((rank["state"], rank["steps_marked"], rank["dropped"]), ("running", True, 0))
            self.assertGreater(rank["own_cost_share"], 0)
            gpu, = rank["gpus"]
            parts = [gpu[f"{part}_share"] for part in
                     ("productive", "exposed_comm", "waiting_for_peer", "memory", "idle")]
            self.assertAlmostEqual(sum(parts), 1, 6)
            self.assertAlmostEqual(sum(gpu["idle_by_cause"].values()), gpu["idle_share"], 6)
            self.assertGreater(gpu["productive_share"], 0)
            self.assertLessEqual(gpu["window_ns"], 2.1e9)
            self.assertGreater(gpu["power_mw"], 0)
        # The launcher has no trace; its children have.
        by_process = self.when(self.has_shares, str(self.job.pid))
        self.assertEqual(*([rank["pid"] for rank in one["ranks"]] for one in (by_process, said)))

        os.kill(said["ranks"][1]["pid"], signal.SIGSTOP)
        said = self.when(lambda said: [rank["state"] for rank in said["ranks"]] == ["quiet", "silent"])
        os.kill(said["ranks"][1]["pid"], signal.SIGCONT)
        self.assertIn("Synchronize", said["ranks"][0]["open_call"] or "", said)
        self.assertGreater(said["ranks"][1]["news_age_ns"], 5e9)
        os.kill(said["ranks"][1]["pid"], signal.SIGKILL)
        said = self.when(lambda said: said["ranks"][1]["state"] in ("died", "ended"))

    def test_steps_that_nobody_marks_are_found_and_that_is_said(self):
        self.start("--steps", "1000000", "--unmarked")
        said = self.when(lambda said: all(rank["step_median_ns"] for rank in said["ranks"]))
        self.assertEqual([rank["steps_marked"] for rank in said["ranks"]], [False, False], said)
        # Beside other programs the newest window may have too few steps to find them.
        until(re.compile(r"step ~[0-9.]+ ").search,
              lambda: box.run([cli.GPUSHIM, "top", "--once", self.folder], sim=False).stdout)

    def test_a_job_does_the_same_beside_it_and_nothing_of_it_is_lost(self):
        """Ten looks in a second, from before the first call to after the last."""
        outcomes = []
        for is_watched in (False, True):
            for trace in self.folder.iterdir():
                trace.unlink()
            watch = None
            if is_watched:
                watch = terminal.Terminal([cli.GPUSHIM, "top", "--interval", "0.1", self.folder],
                                          controls=True)
                watch.wait_for("waiting for one")
            self.start("--steps", "600", GPUSHIM_BUDGET="100%")
            printed = self.job.stdout.read()
            self.assertEqual(self.job.wait(), 0, printed)
            if watch:
                watch.wait_for("ended")
                os.write(watch.master, b"q")
                self.assertEqual(watch.end(), 0, watch.text)
            rows = self.gpushim("sql", self.folder, "--csv", "SELECT sum(produced), sum(recorded),"
                                " sum(dropped), sum(unknown) FROM v_ledger").stdout
            launches = self.gpushim("sql", self.folder, "--csv", "SELECT count(*) FROM launch").stdout
            produced, recorded, dropped, unknown = map(int, rows.splitlines()[-1].split(","))
            self.assertEqual((dropped, unknown, produced), (0, 0, recorded))
            outcomes.append((printed.splitlines()[-2:], launches))
        self.assertEqual(*outcomes)


class OfEndedJob(cli.Case):
    """A job that is over: what terminals are given does not change any more."""

    def setUp(self):
        super().setUp()
        done = self.traced(sys.executable, "-B", cli.TRAIN, "--ranks", "2", *SHORT, GPUSIM_DEVICES=2,
                           GPUSIM_CLOCK="stepped")
        self.assertEqual(done.returncode, 0, done.stderr)


class Ended(OfEndedJob):
    def test_where_there_is_no_terminal_one_look_is_printed_as_text(self):
        for words in ([], ["--once"]):
            text = self.gpushim("top", self.folder, *words).stdout
            self.assertNotIn("\033", text)
            self.assertIn("SIMULATED: these are not GPU times", text)
            self.assertEqual(len(re.findall(r"^ +[01] .* ended$", text, re.MULTILINE)), 2, text)

    def test_a_rank_that_nobody_recovered_has_died(self):
        """Its process is gone on this machine, since it started, and its trace says no end."""
        folder = self.folder / "killed"
        folder.mkdir()
        for trace in self.folder.glob("[01].*.db"):
            shutil.copy(trace, folder)
            with contextlib.closing(sqlite3.connect(folder / trace.name)) as base, base:
                base.execute("UPDATE meta SET value = 'no' WHERE key = 'ended'")
        ranks = json.loads(self.gpushim("top", "--once", "--json", folder).stdout)["ranks"]
        self.assertEqual([rank["state"] for rank in ranks], ["died", "died"])

    def test_a_terminal_that_obeys_nothing_gets_one_look_as_text(self):
        shown = terminal.Terminal([cli.GPUSHIM, "top", self.folder], knobs={"TERM": "dumb"}, controls=True)
        self.assertEqual(shown.end(), 0)
        self.assertNotIn("\033", shown.text)
        self.assertIn("RANK", shown.text)

    def test_without_colours_there_are_none(self):
        for knobs, has_colours in ({"NO_COLOR": "1"}, False), ({}, True):
            with self.subTest(knobs):
                shown = terminal.Terminal([cli.GPUSHIM, "top", self.folder], knobs=knobs, controls=True)
                shown.wait_for("RANK")
                os.write(shown.master, b"q")
                self.assertEqual(shown.end(), 0)
                styles = set(terminal.STYLE.findall(shown.text)) - {"\033[0m"}  # the end has one
                self.assertEqual(bool(styles), has_colours, styles)

    def test_a_terminal_that_takes_nothing_does_not_hold_it_up(self):
        shown = terminal.Terminal([cli.GPUSHIM, "top", "--interval", "0.1", self.folder], controls=True)
        self.addCleanup(shown.kill)
        shown.wait_for("RANK")
        os.write(shown.master, b"\x13")  # Ctrl-S
        shown.process.send_signal(signal.SIGTERM)
        until(lambda code: code is not None, shown.process.poll)
        os.write(shown.master, b"\x11")
        self.assertEqual(shown.end(), -signal.SIGTERM)

    def test_what_is_asked_wrongly_is_refused(self):
        for words, what in ((["--once", "--sort", "stepp"], "did you mean step"),
                            (["--view", "all"], "parts"), (["--interval", "0"], "0.1"),
                            ([self.folder / "none"], "neither a folder nor a process")):
            done = self.gpushim("top", *words, expect=2)
            self.assertIn(what, done.stderr)
        empty = self.folder / "empty"
        empty.mkdir()
        self.assertIn("no trace", self.gpushim("top", "--once", empty, expect=2).stderr)

    def look(self):
        return json.loads(self.gpushim("top", "--once", "--json", self.folder).stdout)

    def test_waits_are_told_only_where_each_rank_is_there_once(self):
        def waits():
            return [gpu["waiting_for_peer_share"] for rank in self.look()["ranks"] for gpu in rank["gpus"]]
        self.assertNotIn(None, waits())
        one, = self.folder.glob("1.*.db")
        shutil.copy(one, self.folder / "copy.db")
        self.assertEqual(waits(), [None] * 3)
        (self.folder / "copy.db").unlink()
        one.unlink()
        said = self.look()
        gpu, = said["ranks"][0]["gpus"]
        self.assertIsNone(gpu["waiting_for_peer_share"])
        self.assertIn("not all ranks", gpu["why"])
        self.assertGreater(gpu["exposed_comm_share"], 0)
        self.assertEqual(said["notes"], ["1 of 2 ranks have no trace in this folder"])
        self.assertIsNone(said["slowest_trace"])

    def test_ranks_are_compared_in_one_time_where_their_windows_differ(self):
        one, = self.folder.glob("1.*.db")
        with contextlib.closing(sqlite3.connect(one)) as base, base:
            base.execute("UPDATE window SET dur_ns = dur_ns / 2")
        gpus = [gpu for rank in self.look()["ranks"] for gpu in rank["gpus"]]
        self.assertNotIn(None, [gpu["waiting_for_peer_share"] for gpu in gpus])
        longer, shorter = (gpu["window_ns"] for gpu in gpus)
        self.assertLess(longer, 1.5 * shorter)

    def test_without_device_times_there_are_no_shares_and_that_is_said(self):
        for trace in self.folder.iterdir():
            trace.unlink()
        self.traced(sys.executable, "-B", cli.TRAIN, "--ranks", "2", *SHORT, GPUSIM_DEVICES=2,
                    GPUSHIM_DEVICE_TIME="off")
        for rank in self.look()["ranks"]:
            gpu, = rank["gpus"]
            self.assertIsNone(gpu["idle_share"])
            self.assertTrue(gpu["why"], gpu)
            self.assertGreater(rank["step_median_ns"], 0)

    def test_what_cannot_be_read_is_shown_and_the_answer_is_incomplete(self):
        (self.folder / "2.db").write_bytes(b"SQLite format 3\0" + bytes(200))
        done = self.gpushim("top", "--once", "--json", self.folder, expect=3)
        states = [rank["state"] for rank in json.loads(done.stdout)["ranks"]]
        self.assertEqual(states, ["ended", "ended", "unreadable"])

    def test_nothing_is_left_beside_the_traces(self):
        before = sorted(self.folder.iterdir())
        self.gpushim("top", "--once", self.folder)
        self.assertEqual(sorted(self.folder.iterdir()), before)


@unittest.skipUnless(shutil.which("tmux"), optional.lacks("tmux"))
class InTmux(OfEndedJob):
    """In a real terminal, from a shell, as a person does it."""

    def setUp(self):
        super().setUp()
        # A socket's path may be no longer than 107 characters.
        self.env = box.environment({"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "PS1": "$ "}, sim=False)
        for name in ("NO_COLOR", "TMUX"):
            self.env.pop(name, None)
        self.addCleanup(self.tmux, "kill-server", check=False)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "sh")
        self.follow()

    def follow(self):
        self.type(shlex.join(map(str, [cli.GPUSHIM, "top", self.folder])), "Enter")
        self.when("RANK +STEP")

    def tmux(self, *words, check=True):
        return subprocess.run(["tmux", "-S", self.folder / "tmux", *words], env=self.env, check=check,
                              capture_output=True, text=True).stdout

    def type(self, *keys):
        self.tmux("send-keys", *keys)

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def when(self, pattern):
        return until(lambda text: re.search(pattern, text), self.screen)

    def state(self):
        return self.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}").strip()

    def process(self):
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", shell], check=True, text=True,
                                  capture_output=True).stdout
        return int(children)

    def is_as_before(self, code):
        """The shell's page, a cursor, and a terminal that echoes and gives whole lines."""
        until(lambda state: state == "0 1", self.state)
        self.type("echo code=$?", "Enter")
        self.when(rf"code={code}\b")
        self.assertNotIn("RANK", self.screen())
        self.type("stty -a", "Enter")
        flags = self.when(r"\bicanon\b").split()
        self.assertTrue({"icanon", "echo", "isig"} <= set(flags), flags)

    def test_keys_choose_what_is_shown_and_the_terminal_is_as_before(self):
        self.assertEqual(self.state(), "1 0")
        self.type("v")
        self.when("INPUT +COPY +LAUNCH")
        self.type("3")
        self.when("POWER +LIMIT")
        self.type("4")
        self.when("RK +STEP")
        self.type("1")
        self.type("s")
        self.when("parts, by step")
        self.type("f", "0.db-none", "Enter")
        self.when("filter: 0.db-none\n")
        self.type("Escape")
        until(lambda text: "filter:" not in text, self.screen)
        self.type("p")
        self.when("PAUSED")
        self.type("?")
        self.when("Columns")
        self.type("x")
        self.when("RANK")
        self.type("q")
        self.is_as_before(0)

    def test_it_is_drawn_for_the_size_that_the_terminal_has_now(self):
        """Also while nothing else changes: it waits for a key then."""
        self.assertNotIn("POWER", self.screen())
        self.type("p")
        self.when("PAUSED")
        self.tmux("resize-window", "-x", "130", "-y", "40")
        text = self.when("MEMORY +POWER")
        self.assertIn("q quit", text.splitlines()[39])
        self.tmux("resize-window", "-x", "80", "-y", "24")
        text = until(lambda text: "POWER" not in text, self.screen)
        self.when("RANK")
        self.type("q")
        self.is_as_before(0)

    def test_signals_end_it_and_the_terminal_is_as_before(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                if number == signal.SIGINT:
                    self.type("C-c")
                else:
                    os.kill(self.process(), number)
                self.is_as_before(128 + number)
                self.type("clear", "Enter")
                self.follow()

    def test_it_can_be_stopped_and_goes_on(self):
        process = self.process()
        self.type("C-z")
        until(lambda state: state == "0 1", self.state)
        self.type("fg", "Enter")
        until(lambda state: state == "1 0", self.state)
        self.when("RANK +STEP")
        self.assertEqual(self.process(), process)
        self.type("q")
        until(lambda state: state == "0 1", self.state)

    def test_it_ends_with_its_terminal(self):
        process = self.process()
        self.tmux("kill-session")
        until(lambda lives: not lives, lambda: os.path.exists(f"/proc/{process}"))
