"""The answer on stdout: a place that takes nothing is told and ends with 3, a reader that goes is no failure,
and lines stay whole, whatever is said on stderr meanwhile."""
import os
import resource
import signal
import socket
import subprocess

import box
import cli
import made_traces

ROWS = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) "
        "SELECT i, 'a row that is as long as others' AS text FROM n")


class Output(cli.Case):
    def setUp(self):
        super().setUp()
        self.traces = self.folder / "traces"
        made_traces.make_run(self.traces, 2)
        self.trace = next(self.traces.glob("*.db"))
        self.history = self.folder / "history.db"
        box.run([cli.GPUSHIM, "history", "add", self.history, self.traces], sim=False)

    def commands(self):
        """Every one that prints."""
        traces = self.traces
        reports = [["report", traces], ["report", traces, "--json"], ["report", traces, "--markdown"]]
        asked = [["sql", self.trace, "SELECT 1", *how] for how in ((), ("--csv",), ("--json",))]
        compared = [["compare", traces, traces], ["compare", traces, traces, "--json"],
                    ["ledger", traces], ["ledger", traces, "--json"]]
        nights = [["history", "show", self.history], ["history", "show", self.history, "--json"],
                  ["history", "show", self.history, "--markdown"]]
        words = [["--help"], ["help"], ["--version"], ["report", "--help"], []]
        return [*reports, *asked, *compared, *nights, *words,
                ["analyze", traces, "-o", self.folder / "run.db"], ["doctor", "--json"], ["doctor"],
                ["export", "chrome", traces, "-o", self.folder]]

    def outcome(self, words, stdout, **options):
        done = subprocess.run([str(word) for word in (cli.GPUSHIM, *words)], env=box.environment(sim=False),
                              stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, text=True,
                              check=False, timeout=120, **options)
        return done.returncode, done.stderr

    def test_a_place_that_takes_nothing_is_told(self):
        for words in self.commands():
            plain = self.outcome(words, subprocess.DEVNULL)[1]
            with self.subTest(words), open("/dev/full", "w", encoding="utf-8") as full:
                code, told = self.outcome(words, full)
                self.assertEqual(code, 3, told)
                self.assertEqual(told, plain + "gpushim: the answer is incomplete: stdout cannot be written: "
                                 "No space left on device\n")

    def test_what_prints_nothing_loses_nothing(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            self.assertEqual(self.outcome(["sql", self.trace, "SELECT nothing"], full)[0], 2)
            self.assertEqual(self.outcome(["run", "--", "true"], full)[0], 0)

    def test_a_reader_that_goes_is_no_failure(self):
        for words in self.commands():
            with self.subTest(words):
                plain = self.outcome(words, subprocess.DEVNULL)
                reader, writer = os.pipe()
                os.close(reader)
                self.assertEqual(self.outcome(words, writer), plain)
                os.close(writer)

    def test_much_that_nobody_reads_is_not_made(self):
        """It would take minutes."""
        asked = subprocess.Popen([cli.GPUSHIM, "sql", self.trace, ROWS.format(count=10**9), "--csv"],
                                 env=box.environment(sim=False), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        self.addCleanup(asked.kill)
        self.assertEqual(asked.stdout.readline(), b"i,text\n")
        asked.stdout.close()
        self.assertEqual((asked.wait(60), asked.stderr.read()), (0, b""))
        asked.stderr.close()

    def test_a_file_that_may_not_grow(self):
        """As on a full disk, what fitted is there."""
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        place = self.folder / "answer.csv"
        with open(place, "w", encoding="utf-8") as file:
            code, told = self.outcome(["sql", self.trace, ROWS.format(count=20_000), "--csv"], file,
                                      preexec_fn=limit)
        self.assertEqual((code, place.stat().st_size), (3, 50_000), told)
        self.assertIn("File too large", told)

    def test_no_stdout_at_all(self):
        """What is opened later does not take its number, and the answer does not go there."""
        export = ["export", "chrome", self.traces, "-o", self.folder / "%r.json"]
        for words in (["report", self.traces], export):
            script = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', cli.GPUSHIM, *map(str, words)],
                                    env=box.environment(sim=False), stderr=subprocess.PIPE, text=True,
                                    check=False)
            self.assertEqual(script.returncode, 3, script.stderr)
            self.assertIn("Bad file descriptor", script.stderr)
        self.assertTrue((self.folder / "0.json").read_text(encoding="utf-8").startswith("{"))
        self.gpushim("report", self.traces / "gpushim.run.db")

    def test_a_program_that_is_run_has_what_we_were_given(self):
        signals = (signal.SIGPIPE, signal.SIGXFSZ)
        for number in (signal.SIG_IGN, signal.SIG_DFL):
            def given(number=number):
                for one in signals:
                    signal.signal(one, number)
            script = "grep SigIgn /proc/$$/status"
            shown = self.gpushim("run", "--", "sh", "-c", script, preexec_fn=given).stdout
            ignored = int(shown.split()[1], 16)
            for one in signals:
                self.assertEqual(bool(ignored >> (one - 1) & 1), number == signal.SIG_IGN)


class Lines(cli.Case):
    """stdout and stderr are one place."""

    def setUp(self):
        super().setUp()
        self.trace = self.folder / "a.db"
        made_traces.make(self.trace)

    def said(self, words, text=""):
        """Each write, as it came."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            program = subprocess.Popen([str(word) for word in (cli.GPUSHIM, *words)], stdin=subprocess.PIPE,
                                       stdout=theirs, stderr=theirs, env=box.environment(sim=False))
            theirs.close()
            program.stdin.write(text.encode())
            program.stdin.close()
            writes = list(iter(lambda: ours.recv(1 << 20), b""))
            program.wait(60)
        return writes

    def test_each_write_is_of_whole_lines(self):
        for words in (["sql", self.trace, ROWS.format(count=5_000)],
                      ["sql", self.trace, ROWS.format(count=5_000), "--csv"],
                      ["sql", self.trace, ROWS.format(count=2_000), "--json"],
                      ["report", self.trace, "--json"], ["--help"]):
            with self.subTest(words):
                writes = self.said(words)
                self.assertEqual([write[-20:] for write in writes if not write.endswith(b"\n")], [])

    def test_a_failure_in_the_middle_stands_in_a_line_of_its_own(self):
        query = ROWS.format(count=30).replace("SELECT i, 'a", "SELECT i, CASE WHEN i = 20 THEN "
                                              "abs(-9223372036854775808) END AS gone, 'a")
        for how in ((), ("--csv",), ("--json",)):
            with self.subTest(how):
                lines = b"".join(self.said(["sql", self.trace, query, *how])).decode().splitlines()
                self.assertEqual([line for line in lines if "gpushim:" in line],
                                 [line for line in lines if line.startswith("gpushim: ")])
                self.assertIn("integer overflow", "".join(lines))

    def test_they_come_in_the_order_in_which_they_were_said(self):
        said = b"".join(self.said(["sql", self.trace], "SELECT 1 AS one;\nSELECT no;\nSELECT 2 AS two;\n"))
        words = [line.split()[0] for line in said.decode().splitlines()]
        self.assertEqual(words, ["one", "1", "gpushim:", "two", "2"])
