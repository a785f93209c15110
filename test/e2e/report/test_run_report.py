"""Runs as files: made beside the traces, reported alone, made anew, never in the place of something else."""
import contextlib
import json
import sqlite3

import cli
import made_traces

APPLICATION = 0x67707372


class RunReport(cli.Case):
    def setUp(self):
        super().setUp()
        self.run_folder = self.folder / "run"
        made_traces.make_run(self.run_folder, 2)
        self.place = self.run_folder / "gpushim.run.db"

    def test_a_report_leaves_the_run_beside_its_traces(self):
        first = self.gpushim("report", self.run_folder, "--json").stdout
        with sqlite3.connect(self.place) as base:
            self.assertEqual(base.execute("PRAGMA application_id").fetchone(), (APPLICATION,))
            self.assertEqual(base.execute("SELECT count(*) FROM rank").fetchone(), (2,))
        base.close()
        self.assertEqual(first, self.gpushim("report", self.run_folder, "--json").stdout)
        self.assertEqual([path.name for path in self.run_folder.iterdir() if ".new" in path.name], [])

    def test_the_run_is_reported_without_its_traces(self):
        full = json.loads(self.gpushim("report", self.run_folder, "--json").stdout)
        for path in self.run_folder.glob("gpushim.box.*"):
            path.unlink()
        for what in (self.place, self.run_folder):
            alone = json.loads(self.gpushim("report", what, "--json").stdout)
            for key in ("schema", "ledger", "steps", "gpus", "launch", "copies", "kernels", "collectives",
                        "skew"):
                self.assertEqual(alone[key], full[key])
            self.assertNotIn("calls", alone)

    def test_analyze_makes_the_run_where_it_is_told(self):
        place = self.run_folder / "other.db"
        done = self.gpushim("analyze", self.run_folder, "-o", place)
        self.assertEqual(done.stdout, f"{place}\n")
        self.assertFalse(self.place.exists())
        # It is no trace, though it lies among them.
        self.assertIn("234 produced", self.gpushim("report", "--all", self.run_folder).stdout)
        self.gpushim("analyze", self.run_folder, "-o", place)
        self.assertIn("234 produced", self.gpushim("report", "--all", place).stdout)
        self.assertIn("already a run database", self.gpushim("analyze", place, expect=2).stderr)

    def test_nothing_else_is_replaced(self):
        trace = self.run_folder / "gpushim.box.0.100.db"
        before = trace.read_bytes()
        said = self.gpushim("analyze", self.run_folder, "-o", trace, expect=2).stderr
        self.assertIn("is not a run database", said)
        self.assertEqual(trace.read_bytes(), before)
        self.place.write_text("mine")
        done = self.gpushim("report", "--all", self.run_folder)
        self.assertEqual(self.place.read_text(), "mine")
        self.assertIn("234 produced", done.stdout)
        self.assertIn("exists and is not a run database", done.stderr)

    def test_a_run_of_another_gpushim_is_not_read(self):
        self.gpushim("report", self.run_folder)
        for version, said in ((1, "written by an older gpushim"), (99, "written by a newer gpushim")):
            with contextlib.closing(sqlite3.connect(self.place)) as base:
                base.execute(f"PRAGMA user_version = {version}")
            self.assertIn(said, self.gpushim("report", self.place, expect=2).stderr)

    def test_a_run_and_traces_are_not_mixed(self):
        self.gpushim("report", self.run_folder)
        said = self.gpushim("report", self.place, self.run_folder / "gpushim.box.0.100.db", expect=2).stderr
        self.assertIn("give it alone", said)
        said = self.gpushim("report", self.place, "--step-marker", "x", expect=2).stderr
        self.assertIn("applies to traces", said)

    def test_options_that_are_not_understood(self):
        for option, value in (("--bandwidth", "fast"), ("--params", "many"), ("--price", "$2"),
                              ("--from", "x"), ("--from", "-1"), ("--to", "-1")):
            said = self.gpushim("report", self.run_folder, option, value, expect=2).stderr
            self.assertIn(f"{option} {value}", said)
        nothing = self.gpushim("report", self.run_folder, "--from", 5, "--to", 4, expect=2)
        self.assertIn("no step lies", nothing.stderr)

    def test_redacted(self):
        made_traces.make(self.run_folder / "secret.db", kernel="secret_kernel", run_key="run")
        shown = self.gpushim("report", self.run_folder, "--redact").stdout
        shown += self.gpushim("report", self.run_folder, "--redact", "--json").stdout
        self.assertNotIn("secret", shown)
