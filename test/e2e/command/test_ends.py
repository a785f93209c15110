"""How commands end: by a signal, on a disk that takes nothing, in a folder that is not theirs; and what is
left behind then."""
import os
import pathlib
import shutil
import signal
import subprocess

import box
import cli
import ends
import kineto_made

ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Signals(ends.Case):
    def setUp(self):
        super().setUp()
        self.traces = self.folder / "traces"
        self.make_run(self.traces, 2)
        self.before = self.listed(self.traces)
        self.out = self.folder / "out"
        self.out.mkdir()

    def assert_nothing_stays(self, words, folder, number):
        program = self.stopped(words, folder)
        self.assertNotEqual(self.listed(self.traces) + self.listed(self.out) + self.listed(self.temporary),
                            self.before, "nothing was on its way")
        program.send_signal(number)
        self.assertEqual(program.wait(60), -number)
        self.assertEqual(self.listed(self.traces), self.before)
        self.assertEqual(self.listed(self.out) + self.listed(self.temporary), [])

    def test_a_report_leaves_nothing(self):
        for number in ENDS:
            with self.subTest(number):
                self.assert_nothing_stays(["report", self.traces], self.traces, number)

    def test_no_other_command_does(self):
        profile = self.folder / "profile.json"
        profile.write_text(kineto_made.made(1, 20).text(), encoding="utf-8")
        for words, folder in ((["analyze", self.traces, "-o", self.out / "run.db"], self.out),
                              (["export", "chrome", self.traces, "-o", self.out], self.out),
                              (["import", "kineto", profile, "-o", self.out / "run.db"], self.temporary),
                              (["import", "kineto", profile, "-o", self.out / "run.db"], self.out),
                              (["compare", self.traces, self.traces], self.traces),
                              (["ledger", self.traces], self.traces),
                              (["history", "add", self.folder / "h.db", self.traces], self.temporary)):
            with self.subTest(words):
                self.assert_nothing_stays(words, folder, signal.SIGTERM)

    def test_a_shell_sees_the_signal(self):
        env = self.around(self.traces, DISK_GO=self.folder / "go", DISK_REACHED=self.folder / "reached")
        script = f'"{cli.GPUSHIM}" report "{self.traces}" & until [ -e reached ]; do sleep 0.01; done; ' \
                 "kill -TERM $!; wait $!; echo $?"
        done = subprocess.run(["sh", "-c", script], env=env, cwd=self.folder, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120)
        self.assertEqual(done.stdout, "143\n")

    def test_what_was_to_be_ignored_is(self):
        """As below nohup."""
        ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
        program = self.stopped(["report", self.traces], self.traces, preexec_fn=ignore)
        program.send_signal(signal.SIGHUP)
        self.go.touch()
        self.assertEqual(program.wait(60), 0)
        self.assertIn("gpushim.run.db", self.listed(self.traces))


class LeftBehind(ends.Case):
    def setUp(self):
        super().setUp()
        self.traces = self.folder / "traces"
        self.make_run(self.traces, 1)

    def new(self):
        return [name for name in self.listed(self.traces) if ".new." in name]

    def test_what_a_dead_process_left_goes_with_the_next_report(self):
        alive = self.stopped(["report", self.traces], self.traces)
        kept, = self.new()
        dead = self.stopped(["report", self.traces], self.traces)
        dead.kill()
        dead.wait()
        self.assertEqual(len(self.new()), 2)
        self.gpushim("report", self.traces)
        self.assertEqual(self.new(), [kept])
        self.go.touch()
        self.assertEqual(alive.wait(60), 0, alive.stderr.read())
        self.assertEqual(self.new(), [])

    def test_of_older_versions_and_other_machines(self):
        old, theirs, recent, mine = (self.traces / f"gpushim.run.db.new.{end}" for end in (
            "aB3dE6", "01234567.aB3dE6", "89abcdef.aB3dE6", "notes"))
        for file in (old, theirs, recent, mine):
            file.touch()
        os.utime(theirs, (0, 0))
        victim = self.folder / "victim"
        victim.touch()
        link = self.traces / "gpushim.run.db.new.aaaaaa"
        link.symlink_to(victim)
        self.gpushim("report", self.traces)
        self.assertEqual(self.new(), sorted(path.name for path in (recent, mine, link)))
        self.assertTrue(victim.exists())


class Folders(ends.Case):
    def setUp(self):
        super().setUp()
        self.traces = self.folder / "traces"
        self.make_run(self.traces, 2)
        elsewhere = shutil.copytree(self.traces, self.folder / "elsewhere")
        self.expected = self.gpushim("report", elsewhere, "--json").stdout
        self.before = self.listed(self.traces)

    def asked(self, *words, **around):
        return subprocess.run([str(word) for word in (cli.GPUSHIM, *words)], text=True, check=False,
                              env=self.around(self.traces, **around), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=120)

    def assert_answered(self, why, **around):
        done = self.asked("report", self.traces, "--json", **around)
        self.assertEqual((done.returncode, done.stdout), (0, self.expected), done.stderr)
        line, = done.stderr.splitlines()
        self.assertIn(f"gpushim: {self.traces}/gpushim.run.db: {why}", line)
        self.assertIn("gpushim analyze -o FILE", line)
        self.assertEqual(self.listed(self.traces), self.before)
        self.assertEqual(self.listed(self.temporary), [])

    def test_a_folder_that_is_read_only(self):
        self.assert_answered("Read-only file system", DISK_READ_ONLY=1)

    def test_a_disk_that_is_full(self):
        self.assert_answered("database or disk is full")

    def test_a_name_that_is_taken(self):
        (self.traces / "gpushim.run.db").write_text("mine", encoding="utf-8")
        self.before = self.listed(self.traces)
        done = self.gpushim("report", self.traces, "--json", knobs={"TMPDIR": self.temporary})
        self.assertEqual(done.stdout, self.expected)
        self.assertEqual((self.traces / "gpushim.run.db").read_text(encoding="utf-8"), "mine")
        self.assertEqual(self.listed(self.temporary), [])

    def test_one_that_is_asked_to_make_a_run_says_that_it_cannot(self):
        done = self.asked("analyze", self.traces, DISK_READ_ONLY=1)
        self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
        self.assertIn("Read-only file system; -o FILE names another place", done.stderr)
        self.assertEqual(self.listed(self.temporary), [])

    def test_nowhere_to_write_at_all(self):
        self.temporary.rmdir()
        done = self.asked("report", self.traces, DISK_READ_ONLY=1)
        self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
        self.assertIn(f"TMPDIR is {self.temporary}", done.stderr)


class Files(ends.Case):
    """What is written beside the answer: --html, --junit, -o."""

    def setUp(self):
        super().setUp()
        self.traces = self.folder / "traces"
        self.make_run(self.traces, 1)
        self.gpushim("report", self.traces)
        self.out = self.folder / "out"
        self.out.mkdir()

    def commands(self, junit):
        return (["report", self.traces, "--html", self.out / "page.html"],
                ["compare", self.traces, self.traces, "--junit", junit],
                ["export", "chrome", self.traces, "-o", self.out / "trace.json"],
                ["export", "chrome", self.traces, "-o", self.out],
                ["history", "add", self.out / "history.db", self.traces])

    def test_a_full_disk_is_said_and_nothing_is_left(self):
        for words in self.commands(self.out / "junit.xml"):
            with self.subTest(words):
                done = subprocess.run([str(word) for word in (cli.GPUSHIM, *words)], text=True, check=False,
                                      env=self.around(self.out), stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, timeout=120)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertRegex(done.stderr, f"gpushim: {self.out}/.*(No space left on device|disk is full)")
                self.assertEqual([name for name in self.listed(self.out) if "history" not in name], [])
                self.assertEqual(self.listed(self.temporary), [])

    def test_a_pipe_is_written_to_and_stays_one(self):
        pipe = self.out / "pipe"
        os.mkfifo(pipe)
        reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True)
        self.addCleanup(reader.communicate)
        self.addCleanup(reader.kill)
        done = box.run([cli.GPUSHIM, "compare", self.traces, self.traces, "--junit", pipe], sim=False)
        self.assertTrue(pipe.is_fifo())
        self.assertIn("<testsuite", reader.stdout.read())
        self.assertNotIn(str(pipe), done.stderr)

    def test_a_device_is_never_replaced(self):
        """Tried where that cannot harm: a link stands for the device."""
        (self.out / "full.db").symlink_to("/dev/full")
        done = self.gpushim("analyze", self.traces, "-o", self.out / "full.db", expect=2)
        self.assertIn("is not a run database", done.stderr)
        self.assertTrue(pathlib.Path("/dev/full").is_char_device())
        (self.out / "full.json").symlink_to("/dev/full")
        done = self.gpushim("export", "chrome", self.traces, "-o", self.out / "full.json", expect=3)
        self.assertIn("No space left on device", done.stderr)
        self.assertTrue((self.out / "full.json").is_symlink())
