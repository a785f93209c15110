"""Rank summaries: a trace as rows that do not grow with its calls. The same files of metrics, asked of a
summary, give what the run's database says; sums and histograms of ranks add up."""
import sqlite3
import sys
import unittest

import box
import in_memory
import trained
from cli import GPUSHIM, Case

sys.path.insert(0, str(box.ROOT / "scripts"))
from fleet import metrics  # pylint: disable=wrong-import-position

RANKS = 2
SUMS = ("window_ns", "busy_ns", "idle_ns", "productive_ns", "memory_ns", "comm_ns", "exposed_comm_ns")


def rows(path, sql):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as base:
        return base.execute(sql).fetchall()


def table_of(summary, sql):
    """What metrics say of a summary, by the same files."""
    base = sqlite3.connect(f"file:{summary}?mode=ro", uri=True)
    for name, text in metrics.view_texts().items():
        base.execute(f"CREATE TEMP VIEW {name} AS {text}")
    found = [row for select in sql for row in base.execute(select)]
    base.close()
    return sorted(found, key=str)


class OfTwoRanks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = in_memory.folder_of(cls)
        trained.train(cls.folder, RANKS, steps=24, knobs={"GPUSIM_JITTER": "0.1"})
        for words in (["-o", cls.folder / "run.db"], ["--rank-summary", "-o", cls.folder / "both.summary"],
                      ["--rank-summary"]):
            traces = [cls.folder / f"{rank}.db" for rank in range(RANKS)]
            done = box.run([GPUSHIM, "analyze", *words, *traces], sim=False)
            if done.returncode:
                raise RuntimeError(done.stderr)
        cls.run_db, cls.both = cls.folder / "run.db", cls.folder / "both.summary"
        cls.each = [cls.folder / f"{rank}.summary" for rank in range(RANKS)]

    def test_metrics_asked_of_a_summary_are_those_of_the_run(self):
        """The files of analysis/metric, asked of the summary, and what the run's database has."""
        files = metrics.all_metrics()
        asked = table_of(self.both, [metric.rows for metric in files])
        self.assertEqual(asked, sorted(rows(self.run_db, "SELECT * FROM metric"), key=str))
        self.assertGreater(len([row for row in asked if row[3] is not None]), 50)
        ranges = table_of(self.both, [select for metric in files for select in metric.ranges])
        self.assertEqual(ranges, sorted(rows(self.run_db, "SELECT * FROM metric_interval"), key=str))
        self.assertGreater(len(ranges), 2)

    def test_sums_of_ranks_add_up(self):
        """Kernels and histograms of ranks that were reduced one by one are the run's, to the nanosecond. What
        ran at the same time is so but for what events cost the peers, which a rank alone cannot see."""
        for column in SUMS:
            alone = [rows(path, f"SELECT {column} FROM v_gpu_total")[0][0] for path in self.each]
            together = rows(self.run_db, f"SELECT {column} FROM v_gpu_total ORDER BY gpu_id")
            for one, (other,) in zip(alone, together):
                self.assertAlmostEqual(one, other, delta=other * 1e-5 + 100, msg=column)
        for sums in ("SELECT name, bucket, sum(count), sum(sum_ns)"
                     " FROM (SELECT what AS name, * FROM histogram WHERE what IN ('kernel', 'api_call'))"
                     " GROUP BY name, bucket",
                     "SELECT name, 0, sum(timed), sum(sum_ns) FROM kernel GROUP BY name"):
            added = {}
            for path in self.each:
                for name, bucket, count, total in rows(path, sums):
                    had = added.get((name, bucket), (0, 0))
                    added[name, bucket] = (had[0] + count, had[1] + total)
            self.assertEqual(sorted((*key, *value) for key, value in added.items()),
                             sorted(rows(self.run_db, sums)))
            self.assertGreater(len(added), 5)

    def test_what_a_rank_alone_cannot_know_is_not_known(self):
        """How long it waited for the other one."""
        for path in self.each:
            (value, why), = rows(path, "SELECT value, why FROM metric WHERE name = 'waiting_for_peer_share'")
            self.assertIsNone(value)
            self.assertIn("of 2 ranks 1", why)
        known = rows(self.both, "SELECT value FROM metric WHERE name = 'waiting_for_peer_share'")
        self.assertNotIn((None,), known)

    def test_steps_have_a_histogram_that_adds_up(self):
        (count, total), = rows(self.both, "SELECT sum(count), sum(sum_ns) FROM step_histogram")
        expected = rows(self.run_db, "SELECT count(*), sum(dur_ns) FROM v_counted_step")
        self.assertEqual([(count, total)], expected)

    def test_raw_files_are_named(self):
        self.assertEqual(rows(self.both, "SELECT path, bytes FROM raw_file ORDER BY rank_id"),
                         [(str(self.folder / f"{rank}.db"), (self.folder / f"{rank}.db").stat().st_size)
                          for rank in range(RANKS)])

    def test_the_same_traces_give_the_same_file(self):
        again = self.folder / "again.summary"
        done = box.run([GPUSHIM, "analyze", "--rank-summary", "-o", again, self.folder / "0.db",
                        self.folder / "1.db"], sim=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(again.read_bytes(), self.both.read_bytes())

    def test_a_summary_is_no_trace(self):
        """The folder that holds both has the run of its traces; a summary alone is refused by name."""
        done = box.run([GPUSHIM, "report", self.both], sim=False)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("rank summary", done.stderr)


class OfTraces(Case):
    def test_what_has_no_step_does_not_grow(self):
        """Four times as many steps: the trace grows by their calls, the summary by a row or two for each."""
        sizes = {}
        for steps in (20, 80):
            folder = self.folder / str(steps)
            trained.train(folder, 1, steps=steps)
            self.gpushim("analyze", "--rank-summary", folder)
            sizes[steps] = [(folder / name).stat().st_size for name in ("0.db", "0.summary")]
        self.assertGreater(sizes[80][0] - sizes[20][0], 100_000)
        self.assertLess(sizes[80][1] - sizes[20][1], 60 * 80 + 4096)

    def test_what_is_no_summary_stays(self):
        trained.train(self.folder, 1, steps=6)
        precious = self.folder / "0.summary"
        precious.write_text("a summary of my own", encoding="utf-8")
        done = self.gpushim("analyze", "--rank-summary", self.folder / "0.db", expect=3)
        self.assertIn("not a rank summary", done.stderr)
        self.assertEqual(precious.read_text(encoding="utf-8"), "a summary of my own")

    def test_run_summarises_at_its_end(self):
        """The program keeps its exit code and its stdout."""
        program = self.folder / "program.sh"
        program.write_text(f"{sys.executable} -B {trained.TRAIN} --ranks 1 --steps 8 >/dev/null\n"
                           "echo all\nexit 7\n", encoding="utf-8")
        done = box.run([GPUSHIM, "run", "--summarise", "-o", self.folder / "%r.db", "--", "sh", program],
                       {"GPUSIM_CLOCK": "stepped"})
        self.assertEqual((done.returncode, done.stdout), (7, "all\n"), done.stderr)
        self.assertEqual(rows(self.folder / "0.summary", "SELECT rank FROM rank"), [(0,)])
