"""What a person at a terminal sees: how far long work is, colours; and that nobody else gets any of it.

No test needs the machine to be fast or slow: what has to take long is fed through a FIFO by the test, or
stopped in the middle of its work."""
import contextlib
import os
import pathlib
import re
import signal
import sys
import time

import box
import cli
import kineto_made
import preload
import terminal

sys.path.insert(0, str(box.ROOT / "test" / "bench"))
import big_trace  # noqa: E402

NO_TRACE = b'{"a": "' + 3000 * b"x" + b'"}'
LEAVES_ROWS = """
#include <cuda.h>
#include <unistd.h>
int main(void) {
    CUcontext context;
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0)) return 1;
    _exit(0);
}
"""
FAR = r"gpushim: importing slow\.json: [0-9.]+ \w+ so far"


class Slow(cli.Case):
    """An import that lasts for as long as the test feeds it."""

    def setUp(self):
        super().setUp()
        self.fifo = self.folder / "slow.json"
        os.mkfifo(self.fifo)
        self.json = kineto_made.made(1, 3).text().encode()

    @contextlib.contextmanager
    def importing(self, *words, on=("stdout", "stderr"), **options):
        begun = terminal.Terminal([cli.GPUSHIM, "import", "kineto", self.fifo, *words, "-o",
                                   self.folder / "run.db"], on, **options)
        feed = os.open(self.fifo, os.O_WRONLY)
        os.write(feed, self.json[:2000])
        try:
            yield begun
        except BaseException:
            begun.process.kill()
            raise
        finally:
            os.close(feed)

    def feed_the_rest(self):
        with open(self.fifo, "wb") as feed:
            feed.write(self.json[2000:])

    def test_is_shown_after_a_second_and_gone_at_the_end(self):
        with self.importing() as begun:
            begun.wait_for(FAR)
            self.assertGreaterEqual(begun.first_s - begun.begin_s, 1.0)
            self.feed_the_rest()
        self.assertEqual(begun.end(), 0, begun.text)
        self.assertEqual(begun.lines(), [])

    def test_nothing_where_stderr_is_no_terminal(self):
        with self.importing(on=("stdout",)) as begun:
            time.sleep(2)  # on a terminal there would be a line now, or a little later
            self.feed_the_rest()
        self.assertEqual(begun.end(), 0)
        self.assertEqual((begun.text, begun.piped["stderr"]), ("", b""))

    def test_nothing_on_a_dumb_terminal(self):
        for term in ("dumb", ""):
            with self.subTest(term=term), self.importing(knobs={"TERM": term}) as begun:
                time.sleep(2)
                self.feed_the_rest()
            self.assertEqual(begun.end(), 0)
            self.assertEqual(begun.text, "")

    def test_what_is_told_has_a_line_of_its_own(self):
        self.json = NO_TRACE
        good = kineto_made.made(2, 2).write(self.folder / "good.json.gz")
        with self.importing(good, columns=400) as begun:
            begun.wait_for("importing 2 files: ")
            self.feed_the_rest()
        self.assertEqual(begun.end(), 3)
        self.assertEqual(len(begun.lines()), 1, begun.lines())
        self.assertRegex(begun.lines()[0], r"^gpushim: left out .*slow\.json: not a trace of PyTorch's")
        self.assertRegex(begun.text, "\r\033\\[K\033\\[33mgpushim:\033\\[0m left out")

    def test_an_error_has_a_line_of_its_own(self):
        self.json = NO_TRACE
        with self.importing(columns=400) as begun:
            begun.wait_for(FAR)
            self.feed_the_rest()
        self.assertEqual(begun.end(), 2)
        self.assertEqual([line[:18] for line in begun.lines()], ["gpushim: left out ", "gpushim: nothing t"])

    def test_a_signal_leaves_the_terminal_clean(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number), self.importing() as begun:
                begun.wait_for(FAR)
                begun.process.send_signal(number)
                self.assertNotEqual(begun.end(), 0)
                self.assertFalse([line for line in begun.lines() if "importing" in line], begun.lines())

    def test_an_ignored_signal_stays_ignored(self):
        ignoring = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh"]
        begun = terminal.Terminal([*ignoring, cli.GPUSHIM, "import", "kineto", self.fifo, "-o",
                                   self.folder / "run.db"])
        with open(self.fifo, "wb") as feed:
            feed.write(self.json[:2000])
            feed.flush()
            begun.wait_for(FAR)
            begun.process.send_signal(signal.SIGHUP)
            feed.write(self.json[2000:])
        self.assertEqual(begun.end(), 0, begun.text)

    def test_a_job_in_the_background_leaves_the_terminal_to_others(self):
        words = f"set -m; {cli.GPUSHIM} import kineto {self.fifo} -o {self.folder}/run.db & wait"
        begun = terminal.Terminal(["sh", "-c", words], controls=True)
        with open(self.fifo, "wb") as feed:
            feed.write(self.json[:2000])
            feed.flush()
            time.sleep(2)
            feed.write(self.json[2000:])
        self.assertEqual(begun.end(), 0)
        self.assertNotIn("importing", begun.text)

    def test_it_fits_into_the_terminal(self):
        wide = self.folder / ("名" * 60 + ".json")
        self.fifo.rename(wide)
        self.fifo = wide
        with self.importing(columns=40) as begun:
            line = begun.wait_for("gpushim: importing 名+").group()
            self.feed_the_rest()
        self.assertEqual(begun.end(), 0)
        self.assertLess(len(line) + line.count("名"), 40)

    def test_a_name_cannot_act_on_the_terminal(self):
        hostile = self.folder / "a\033[2Jb.json"
        self.fifo.rename(hostile)
        self.fifo = hostile
        with self.importing() as begun:
            begun.wait_for(r"importing a\\x1b\[2Jb\.json")
            self.feed_the_rest()
        self.assertEqual(begun.end(), 0)


def opened(pid, path):
    """Whether the process has that file open."""
    with contextlib.suppress(OSError):
        return any(os.path.realpath(entry) == str(path.resolve())
                   for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir())
    return False


class HowFar(cli.Case):
    def test_of_an_analysis(self):
        trace = self.folder / "0.db"
        big_trace.make(trace, 300_000)
        found = None
        for _ in range(20):
            begun = terminal.Terminal([cli.GPUSHIM, "analyze", trace, "-o", self.folder / "run.db"])
            while begun.process.poll() is None and not opened(begun.process.pid, trace):
                pass
            os.kill(begun.process.pid, signal.SIGSTOP)  # from here on it takes more than a second
            time.sleep(1.1)
            os.kill(begun.process.pid, signal.SIGCONT)
            self.assertEqual(begun.end(), 0, begun.text)
            self.assertEqual(begun.lines(), [str(self.folder / "run.db")])
            found = found or re.search(r"gpushim: analysing 1 trace: \d+ %", begun.text)
            if found:
                return
        self.fail(begun.text)

    def test_of_a_report_and_its_page(self):
        """Stopped again and again for longer than a line stays, so that each part of the work has one."""
        run, page = self.folder / "run.db", self.folder / "run.html"
        big_trace.make(self.folder / "0.db", 600_000)  # its sections take a tenth of a second
        self.gpushim("analyze", self.folder / "0.db", "-o", run)
        seen = ""
        for _ in range(10):
            begun = terminal.Terminal([cli.GPUSHIM, "report", run, "--html", page], on=("stderr",))
            while begun.process.poll() is None and not opened(begun.process.pid, run):
                pass
            stop_s = 1.1
            while begun.process.poll() is None:
                begun.process.send_signal(signal.SIGSTOP)
                time.sleep(stop_s)
                begun.process.send_signal(signal.SIGCONT)
                time.sleep(0.01)
                stop_s = 0.22
            self.assertEqual(begun.end(), 0, begun.text)
            self.assertEqual(begun.lines(), [])
            seen += begun.text
            if all(f"gpushim: {what}: " in seen for what in ("writing the report", "drawing the page")):
                return
        self.fail(seen)

    def test_quick_work_is_silent(self):
        trace = self.folder / "0.db"
        big_trace.make(trace, 200)
        for _ in range(20):
            begun = terminal.Terminal([cli.GPUSHIM, "analyze", trace, "-o", self.folder / "run.db"])
            self.assertEqual(begun.end(), 0)
            if begun.lasted_s < 1:
                self.assertEqual(begun.text, f"{self.folder}/run.db\r\n")
                return
            # On a machine as busy as that it was no quick work; then it is silent for a second all the same.
            self.assertGreaterEqual(begun.first_s - begun.begin_s, 1)


class OfARecovery(preload.PreloadCase):
    def test_is_shown_while_it_lasts(self):
        program, seen = preload.compiled(LEAVES_ROWS, self.folder / "leaves"), ""
        for i in range(40):
            trace = self.folder / f"{i}.db"
            self.traced([program], GPUSHIM_OUT=trace)
            begun = terminal.Terminal([cli.GPUSHIM, "analyze", trace, "-o", self.folder / "run"])
            while begun.process.poll() is None and not opened(begun.process.pid, trace):
                pass
            if begun.process.poll() is None:
                begun.process.send_signal(signal.SIGSTOP)  # from here on it takes more than a second
                time.sleep(1.1)
                begun.process.send_signal(signal.SIGCONT)
            self.assertEqual(begun.end(), 0, begun.text)
            self.assertEqual(begun.lines(), [str(self.folder / "run")])
            seen += begun.text
            if re.search(r"gpushim: recovering what killed processes left: [0-9.]+ \w+ so far", seen):
                return
        self.fail(seen)


class OwnQuery(cli.Case):
    """A query takes as long as whoever wrote it made it."""
    ENDLESS = "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n)"
    RUNNING = r"gpushim: running the query: \d+ s so far"

    def setUp(self):
        super().setUp()
        big_trace.make(self.folder / "0.db", 10)

    def asked(self, query, *words, **options):
        return terminal.Terminal([cli.GPUSHIM, "sql", self.folder / "0.db", query, *words], **options)

    def test_is_shown_after_a_second(self):
        begun = self.asked(f"SELECT {self.ENDLESS}")
        begun.wait_for(self.RUNNING)
        self.assertGreaterEqual(begun.first_s - begun.begin_s, 1.0)
        begun.process.terminate()
        self.assertNotEqual(begun.end(), 0)
        self.assertEqual(begun.lines(), [])

    def test_rows_have_lines_of_their_own(self):
        begun = self.asked(f"SELECT 'begun' AS row; SELECT {self.ENDLESS} AS most", "--csv")
        begun.wait_for(self.RUNNING)
        begun.process.terminate()
        begun.end()
        self.assertEqual(begun.lines(), ["row", "begun", "most"])

    def test_who_reads_the_rows_has_the_terminal(self):
        many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 30000) SELECT i FROM n"
        words = [cli.GPUSHIM, "sql", self.folder / "0.db", f"{many}; SELECT {self.ENDLESS}", "--csv"]
        begun = terminal.Terminal(["sh", "-c", '"$@" | { read row; echo "pager: $row" >&2; cat >/dev/null; }',
                                   "sh", *words], on=("stderr",))
        begun.wait_for("pager: i\r\n")
        time.sleep(2)  # without a reader there would be a line now, or a little later
        os.killpg(begun.process.pid, signal.SIGTERM)
        begun.end()
        self.assertNotIn("running", begun.text.partition("pager: i")[2])

    def test_nothing_where_stderr_is_no_terminal(self):
        begun = self.asked(f"SELECT {self.ENDLESS}", on=("stdout",))
        time.sleep(2)
        begun.process.terminate()
        begun.end()
        self.assertEqual((begun.text, begun.piped["stderr"]), ("", b""))


class Colours(cli.Case):
    def setUp(self):
        super().setUp()
        big_trace.make(self.folder / "0.db", 1000)
        self.plain = self.gpushim("report", self.folder).stdout

    def report(self, *words, on=("stdout",), **knobs):
        begun = terminal.Terminal([cli.GPUSHIM, *(words or ("report", self.folder))], on, knobs,
                                  columns=400)
        begun.end()
        return begun

    def test_a_report_on_a_terminal(self):
        said = self.report().text
        self.assertIn("\033[1mSTEP\033[0m  ", said)
        self.assertIn("\033[1mWHAT TO DO\033[0m (gain", said)
        self.assertIn("\033[33mSIMULATED: these are not GPU times\033[0m", said)
        self.assertEqual(terminal.without_styles(said).replace("\r\n", "\n"), self.plain)

    def test_no_colours_where_none_are_wanted(self):
        for knobs in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}):
            with self.subTest(knobs=knobs):
                self.assertEqual(self.report(**knobs).text.replace("\r\n", "\n"), self.plain)
        self.assertIn("\033[1m", self.report(NO_COLOR="").text)

    def test_none_in_a_pipe_beside_a_terminal(self):
        self.assertEqual(self.report(on=("stderr",)).piped["stdout"].decode(), self.plain)

    def test_none_in_what_is_for_programs(self):
        for form in ("--json", "--markdown"):
            self.assertNotIn("\033", self.report("report", self.folder, form).text)
        self.report("compare", self.folder, self.folder, "--junit", self.folder / "verdict.xml")
        self.assertNotIn("\033", (self.folder / "verdict.xml").read_text(encoding="utf-8"))

    def test_what_ended_a_command(self):
        for knobs, prefix in (({}, "\033[1;31mgpushim:\033[0m "), ({"NO_COLOR": "1"}, "gpushim: ")):
            said = self.report("report", self.folder / "none", on=("stderr",), **knobs)
            self.assertTrue(said.text.startswith(prefix), said.text)
        self.assertNotIn("\033", self.gpushim("report", self.folder / "none", expect=2).stderr)
