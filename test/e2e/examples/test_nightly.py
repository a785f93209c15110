"""scripts/nightly_report.sh on nights of the box: good ones, a regression and since when, and what it makes
of nights that are missing, half there, still running, or from elsewhere."""
import os
import sqlite3
import subprocess
import time
import xml.etree.ElementTree

import box
import cli
import nightly

SLOWER = {"GPUSIM_SLOW": "0:1.04"}


class Nightly(cli.Case):
    def setUp(self):
        super().setUp()
        self.traces = self.folder / "traces"
        self.traces.mkdir()
        self.history = self.folder / "gpushim.history.db"
        self.output = self.folder / "nightly"

    def night(self, number, **knobs):
        """The run of that night; its folder."""
        folder = self.traces / f"night_{number:02}"
        nightly.record(folder, number, night=number, **knobs)
        return folder

    def judge(self, expect, *words):
        """What the report says of the newest night."""
        code, shown, told = nightly.report(self.traces, *words)
        self.assertEqual(code, expect, shown + told)
        self.shown, self.told = shown, told
        answer = nightly.answer(self.output)
        return answer["series"][0]["night"] if answer["series"] else None

    def rows(self, sql):
        base = sqlite3.connect(self.history)
        try:
            return base.execute(sql).fetchall()
        finally:
            base.close()

    def test_fourteen_nights_of_which_the_ninth_is_slower(self):
        told = self.folder / "told"
        for number in range(1, 15):
            self.night(number, GPUSHIM_TAG=f"model=small,commit=c{number}", **(SLOWER if number >= 9 else {}))
            night = self.judge(3 if number == 1 else 0 if number < 9 else 1,
                               "--on-regression", f"cat >> '{told}'")
            if number == 1:
                self.assertIn("nothing to compare it with", night["said"])
            if number < 9:
                self.assertIsNone(night["first_bad"])
                self.assertFalse(told.exists())
            else:
                self.assertEqual((night["cause"], night["first_bad"], night["base"]), ("compute", 9, 8))
                self.assertIn("first bad night: ", self.shown)
                self.assertEqual(told.read_text().count("**REGRESSED**"), number - 8)
        self.assertEqual([name for name, in self.rows("SELECT result FROM v_night")],
                         ["inconclusive", *["ok"] * 7, *["regressed"] * 6])
        suite = xml.etree.ElementTree.parse(self.output / "nightly.junit.xml").getroot()
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("1", "1"))
        page = (self.output / "nightly.html").read_text(encoding="utf-8")
        self.assertIn("first bad night", page)
        self.assertIn("These are not GPU times", page)
        self.gpushim("history", "accept", self.history)
        self.night(15, GPUSHIM_TAG="model=small,commit=c15", **SLOWER)
        self.judge(0)

    def test_copies_that_are_slower_are_the_cause(self):
        for number in (1, 2):
            self.night(number, copy_mb=10)
        self.judge(0)
        self.night(3, copy_mb=10, GPUSIM_H2D_GBS=20)
        night = self.judge(1)
        self.assertEqual((night["cause"], night["first_bad"]), ("copies", 3))
        comparison = nightly.answer(self.output)["series"][0]["comparison"]
        parts = {part["part"]: part for part in comparison["parts"]}
        whole_ns = sum(part["base_ns"] for part in parts.values())
        self.assertGreater(parts["copies"]["base_ns"], 0.2 * whole_ns)

    def test_a_missing_rank_and_another_gpu_are_named_before_any_verdict(self):
        for number in (1, 2):
            self.night(number)
        self.judge(0)
        self.night(3, WORLD_SIZE=2, RANK=0)
        self.assertIn("2 ranks expected, 1 seen", self.judge(3)["said"])
        self.night(4, GPUSIM_NAME="H200", **SLOWER)
        night = self.judge(3)
        self.assertRegex(night["said"], r"^GPU Simulated H200 \(was Simulated GPU\): a new series")
        self.night(5, GPUSIM_NAME="H200", **SLOWER)
        self.judge(0)
        self.night(6, **SLOWER)
        self.assertEqual(self.judge(1)["base"], 2)
        # The rank that was late is there now: that night is judged anew.
        self.night(3, WORLD_SIZE=2, RANK=1, GPUSIM_DEVICES=2)
        self.judge(1)
        self.assertEqual(self.rows("SELECT count(*), max(ranks_seen) FROM night"), [(6, 2)])

    def test_again_and_at_once_and_dry(self):
        told = self.folder / "told"
        words = ("--on-regression", f"echo told >> '{told}'")
        for number in (1, 2):
            self.night(number)
        self.judge(0, *words)
        before = (self.output / "nightly.html").read_bytes()
        self.judge(0, *words)
        self.assertEqual((self.output / "nightly.html").read_bytes(), before)
        self.night(3, **SLOWER)
        history = self.history.read_bytes()
        code, shown, said = nightly.report(self.traces, "--dry-run", *words)
        self.assertEqual(code, 1, said)
        self.assertIn("**REGRESSED**", shown)
        self.assertIn("would run: echo told", said)
        self.assertEqual((self.history.read_bytes(), (self.output / "nightly.html").read_bytes()),
                         (history, before))
        both = [nightly.start_report(self.traces, *words) for _ in range(2)]
        self.assertEqual([program.communicate() and program.returncode for program in both], [1, 1])
        self.judge(1, *words)
        self.assertEqual(told.read_text(), "told\n")
        self.assertEqual(self.rows("SELECT count(*) FROM night"), [(3,)])
        self.assertEqual([path.name for path in self.traces.glob("*/gpushim.run.db")], [])

    def test_a_night_that_is_not_there_or_not_over(self):
        self.judge(3)
        self.assertIn("last night is missing", self.shown)
        self.night(1)
        self.night(2)
        self.judge(0)
        self.judge(3, "--max-age", 36)
        self.assertIn("last night is missing", self.shown)
        (self.traces / "night_03").mkdir()
        env = box.environment({"GPUSIM_CLOCK": "stepped", "GPUSHIM_BUDGET": "100%",
                               "NIGHT_S": 3 * nightly.DAY_S,
                               "GPUSHIM_OUT": self.traces / "night_03" / "%p.db",
                               "LD_PRELOAD": box.BUILD / "libgpushim.so"})
        code = f"import sys; sys.path.insert(0, {str(nightly.JOB.parent)!r}); import nightly_job; "
        code += "nightly_job.main(); print('ready', flush=True); sys.stdin.read()"
        with subprocess.Popen(["python3", "-c", code, "120", "1", "10", "100"], env=env,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
            self.assertEqual(program.stdout.readline(), b"ready\n")
            for _ in range(100):  # until the writer has been there
                if any(path.stat().st_size for path in self.traces.glob("night_03/*.db-wal")):
                    break
                time.sleep(0.1)
            self.judge(3)
            self.assertIn("is not judged yet", self.shown.replace("`", ""))
            program.communicate(b"")
        self.judge(0)
        self.assertEqual(self.rows("SELECT count(*) FROM night"), [(3,)])

    def test_what_cannot_be_read_or_written_is_said(self):
        self.night(1)
        self.judge(3)
        base = sqlite3.connect(self.history)
        base.execute("PRAGMA user_version = 99")
        base.close()
        code, _, told = nightly.report(self.traces)
        self.assertEqual(code, 2)
        self.assertIn("written by a newer gpushim", told)
        for words in ((self.folder / "nothing",), (self.traces, "--wrong"), (self.traces, "--keep"), ()):
            done = box.run([nightly.SCRIPT, *words], sim=False)
            self.assertEqual(done.returncode, 2, words)
            self.assertNotEqual(done.stderr, "")
        self.gpushim("history", "show", self.traces / "night_01" / "none.db", expect=2)
        self.gpushim("history", "accept", self.history, expect=2)

    def test_what_is_broken_decides_only_while_it_is_new(self):
        for number in (1, 2):
            self.night(number)
        self.judge(0)
        broken = self.traces / "broken"
        broken.mkdir()
        (broken / "a.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
        self.judge(3)
        for path in (broken / "a.db", broken):
            os.utime(path, (1, 1))
        self.judge(0)
        self.assertIn("a.db", self.told)

    def test_two_jobs_are_two_series(self):
        for number in (1, 2):
            for model in ("large", "small"):
                folder = self.traces / f"{model}_{number}"
                slow = SLOWER if (number, model) == (2, "small") else {}
                nightly.record(folder, number, night=number, GPUSHIM_TAG=f"model={model}", **slow)
        self.judge(1)
        results = {one["series"]: one["night"]["result"] for one in nightly.answer(self.output)["series"]}
        self.assertEqual(results, {"model=large": "ok", "model=small": "regressed"})
