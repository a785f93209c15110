"""The report checks itself: each check withholds what a planted wrong figure reaches, and none objects to a
run that could have been."""
import contextlib
import json
import os
import re
import sqlite3
import tempfile
import unittest

import box
import in_memory
import random_traces
import trained

# By check: what is changed in a run's database, and a section that is not shown then.
PLANTED = {
    "events_add_up": ("UPDATE rank SET unknown = -3", "ledger"),
    "shares_add_up": ("UPDATE metric SET value = value + 0.03 WHERE name = 'memory_share'", "gpus"),
    "share_of_a_whole": ("UPDATE metric SET value = 1.2 WHERE name = 'overlap_share'", "gpus"),
    "figure_in_its_range": ("UPDATE metric_interval SET high = 0.01 WHERE name = 'busy_share'", "certain"),
    "busy_in_its_window": ("UPDATE activity SET ns = -ns WHERE classes = 0", "idle"),
    "causes_add_up": ("UPDATE gap SET ns = ns * 2", "idle"),
    "stream_in_its_time": ("UPDATE stream_stat SET busy_ns = busy_ns * 1000", "kernels"),
    "kernel_in_its_time": ("UPDATE kernel SET max_ns = 1 << 50", "kernels"),
    "steps_are_the_run": ("UPDATE gpu SET busy_share = 0.1, busy_share_low = 0.1, busy_share_high = 0.1",
                          "gpus"),
    "steps_in_order": ("UPDATE metric SET value = value * 5 WHERE name = 'step_median_ns'", "steps"),
    "operations_are_counted": ("UPDATE gpu_step SET operations = operations * 9", "launch"),
    "names_are_names": ("UPDATE kernel SET name = ' ' WHERE name LIKE 'gelu_fwd%'", "kernels"),
}


def report(*words):
    return box.run([box.BUILD / "gpushim", "report", *words], sim=False)


class Planted(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = in_memory.folder_of(cls)
        run = cls.folder / "run"
        trained.train(run, 2, steps=200)  # they are nearly all of the run
        trained.report(run)
        cls.whole = (run / "gpushim.run.db").read_bytes()
        cls.said = json.loads(report("--json", cls.planted("UPDATE run SET value = value")).stdout)

    @classmethod
    def planted(cls, sql):
        file = cls.folder / "gpushim.run.db"
        file.write_bytes(cls.whole)
        with contextlib.closing(sqlite3.connect(file)) as base, base:
            assert base.execute(sql).rowcount > 0, sql
        return file

    def test_every_check_has_a_figure_that_it_finds(self):
        with contextlib.closing(sqlite3.connect(self.planted("UPDATE run SET value = value"))) as base:
            view, = base.execute("SELECT sql FROM sqlite_schema WHERE name = 'v_contradiction'").fetchone()
        self.assertEqual(set(re.findall(r"^SELECT '(\w+)'", view, re.MULTILINE)), set(PLANTED))

    def test_nothing_contradicts_a_run_as_it_is(self):
        self.assertEqual((self.said["contradictions"], self.said["doubts"]), ([], []))

    def test_what_is_planted_is_found_and_not_shown(self):
        for name, (sql, section) in PLANTED.items():
            with self.subTest(name):
                run = self.planted(sql)
                text, done = report("--all", run), report("--json", run)
                self.assertEqual((text.returncode, done.returncode), (3, 3), text.stdout + text.stderr)
                self.assertRegex(text.stdout, r"(?m)^WRONG   ")
                self.assertRegex(text.stdout,
                                 rf"(?m)^{section.upper()} +contradictory: see above, not shown$")
                said = json.loads(done.stdout)
                found = {one["name"]: one["not_shown"].split() for one in said["contradictions"]}
                self.assertIn(section, found.get(name, []), found)
                self.assertEqual(set(said), set(self.said))

    def test_what_only_estimated_bounds_contradict_is_said_and_shown(self):
        """Nobody compared this kind of GPU with its stamps, or nobody recorded whether somebody did."""
        for calibrated in ("0", "NULL"):
            for name in ("figure_in_its_range", "steps_are_the_run"):
                with self.subTest(name, calibrated=calibrated):
                    run = self.planted(PLANTED[name][0])
                    with contextlib.closing(sqlite3.connect(run)) as base, base:
                        base.execute(f"UPDATE gpu SET gaps_calibrated = {calibrated}")
                    text, done = report("--all", run), report("--json", run)
                    self.assertEqual((text.returncode, done.returncode), (0, 0), text.stdout + text.stderr)
                    self.assertRegex(text.stdout, r"(?m)^DOUBT   figures lie outside of bounds that are ")
                    self.assertNotRegex(text.stdout, "WRONG|contradictory")
                    said = json.loads(done.stdout)
                    self.assertEqual(said["contradictions"], [])
                    self.assertIn(name, {one["name"] for one in said["doubts"]})

    def test_an_estimate_excuses_nothing_else(self):
        sql, section = PLANTED["causes_add_up"]
        run = self.planted(sql)
        with contextlib.closing(sqlite3.connect(run)) as base, base:
            base.execute("UPDATE gpu SET gaps_calibrated = 0")
        done = report(run)
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stdout, rf"(?m)^{section.upper()} +contradictory: see above, not shown$")

    def test_steps_that_are_many_and_steps_that_were_timed_may_be_others(self):
        """Which of them count is asked once: pair by pair would take longer than a file of this size may."""
        run = self.planted("UPDATE gpu_step SET step = step + 1000000")
        with contextlib.closing(sqlite3.connect(run)) as base, base:
            base.executescript("""
                UPDATE gap SET step = step + 1000000; UPDATE activity SET step = step + 1000000;
                CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 2000000 UNION ALL
                  SELECT i + 1 FROM n WHERE i < 2005000) SELECT i FROM n;
                INSERT INTO gpu_step (gpu_id, step, window_ns) SELECT gpu_id, i, 0 FROM gpu, n;
                INSERT INTO step (rank_id, step, number, begin_ns, dur_ns)
                  SELECT rank_id, i + 1000000, i, i, 1 FROM rank, n;""")
        done = report(run)
        self.assertNotIn("it would take too long", done.stderr)
        self.assertIn(done.returncode, (0, 3), done.stderr)

    def test_the_page_says_it_and_that_it_is_simulated(self):
        page = self.folder / "page.html"
        self.assertEqual(report("--html", page, self.planted(PLANTED["shares_add_up"][0])).returncode, 3)
        text = page.read_text(encoding="utf-8")
        self.assertIn("figures of this run contradict each other", text)
        self.assertIn("SIMULATED", text)


class Generated(unittest.TestCase):
    """GENERATED=N: so many, a sixth of which are strange; the seeds begin with SEED=N."""
    FIRST, COUNT = int(os.environ.get("SEED", "0")), int(os.environ.get("GENERATED", "300"))

    def said(self, seed, codes, **how):
        with tempfile.TemporaryDirectory(dir=in_memory.place()) as folder:
            made = random_traces.make_run(folder, seed, **how)
            done = report("--all", folder)
            self.assertIn(done.returncode, codes, f"seed {seed}: {done.stdout}{done.stderr}")
            self.assertNotRegex(done.stdout, r"\b(nan|inf)\b", f"seed {seed}")
            with contextlib.closing(sqlite3.connect(f"{folder}/gpushim.run.db")) as base:
                launches, = base.execute("SELECT coalesce(sum(launches), 0) FROM kernel").fetchone()
        return made, launches

    def test_runs_that_could_have_been_contradict_nothing(self):
        for seed in range(self.FIRST, self.FIRST + self.COUNT * 5 // 6):
            made, launches = self.said(seed, (0,))
            self.assertEqual(launches, sum(one.launches for one in made), f"seed {seed}")

    def test_runs_that_could_not_have_been_are_survived(self):
        for seed in range(self.FIRST, self.FIRST + self.COUNT // 6):
            self.said(seed, (0, 1, 3), is_strange=True)
