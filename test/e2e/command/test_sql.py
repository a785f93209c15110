"""gpushim sql: one trace, and all of a run as one."""
import csv
import io
import json
import os
import shutil
import sqlite3
import subprocess

import box
import cli
import made_traces


class Sql(cli.Case):
    def setUp(self):
        super().setUp()
        self.trace = self.folder / "a.db"
        made_traces.make(self.trace)

    def test_a_table_for_people(self):
        shown = self.gpushim("sql", self.trace, "SELECT kernel, launches FROM v_kernel_total").stdout
        self.assertEqual(shown, "kernel      launches\ngemm__10us       100\n")

    def test_csv_and_json(self):
        query = ("SELECT 1 AS n, NULL AS none, 'a,\"b' AS text, 0.5 AS half, '=1+1' AS formula,"
                 " x'00ff' AS bytes")
        rows = list(csv.reader(io.StringIO(self.gpushim("sql", self.trace, query, "--csv").stdout)))
        self.assertEqual(rows, [["n", "none", "text", "half", "formula", "bytes"],
                                ["1", "", 'a,"b', "0.5", "'=1+1", "x'00ff'"]])
        self.assertEqual(json.loads(self.gpushim("sql", self.trace, query, "--json").stdout),
                         [{"n": 1, "none": None, "text": 'a,"b', "half": 0.5, "formula": "=1+1",
                           "bytes": "00ff"}])
        self.assertEqual(self.gpushim("sql", self.trace, "SELECT 1 WHERE 0", "--json").stdout, "[]\n")

    def test_lines_of_json_keep_types_and_parameters_have_values(self):
        query = "SELECT ? AS n, :half AS half, 1e999 AS most, x'00ff' AS bytes, NULL AS n"
        given = "SELECT 9007199254740993 AS a, 1.0 AS half"
        lines = self.gpushim("sql", self.trace, query, "--json-lines", "--parameters", given).stdout
        self.assertEqual(lines, '["n", "half", "most", "bytes", "n"]\n'
                                '[9007199254740993, 1.0, 1e999, {"blob": "00ff"}, null]\n')
        self.assertEqual(self.gpushim("sql", self.trace, "SELECT 1 AS a WHERE 0", "--json-lines").stdout,
                         '["a"]\n')
        many = [f"a_column_with_a_long_name_{number}" for number in range(40)]
        lines = self.gpushim("sql", self.trace, f"SELECT 1 AS {', 1 AS '.join(many)}", "--json-lines").stdout
        self.assertEqual([json.loads(line) for line in lines.splitlines()], [many, [1] * 40])
        lost = self.gpushim("sql", self.trace, "SELECT :absent", expect=2).stderr
        self.assertIn(":absent has no value", lost)
        self.gpushim("sql", self.trace, query, "--json-lines", "--csv", expect=2)
        several = self.gpushim("sql", self.trace, "SELECT 1; SELECT 2", "--json-lines", expect=2).stderr
        self.assertIn("answers one query", several)

    def test_a_file_of_statements_and_stdin(self):
        text = "-- two questions\nSELECT 1 AS one;\nSELECT 2 AS two;\n"
        (self.folder / "q.sql").write_text(text, encoding="utf-8")
        by_file = self.gpushim("sql", self.trace, self.folder / "q.sql").stdout
        by_stdin = subprocess.run([cli.GPUSHIM, "sql", self.trace], input=text, text=True, check=True,
                                  env=box.environment(sim=False), stdout=subprocess.PIPE).stdout
        self.assertEqual(by_file, "one\n  1\ntwo\n  2\n")
        self.assertEqual(by_stdin, by_file)

    def test_the_shells_own_words(self):
        typed = ".tables\n.schema v_offset\nSELECT absent;\nSELECT 5 AS five;\n.quit\nSELECT 6;\n"
        done = subprocess.run([cli.GPUSHIM, "sql", self.trace], text=True, check=False, input=typed,
                              env=box.environment(sim=False), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for text in ("v_kernel_total\n", "CREATE VIEW v_offset", "five\n   5\n"):
            self.assertIn(text, done.stdout)
        self.assertNotIn("6", done.stdout.splitlines()[-1])
        self.assertIn("no such column: absent", done.stderr)
        self.assertEqual(done.returncode, 2)

    def test_nothing_is_changed_and_nothing_left(self):
        before = self.trace.read_bytes()
        self.gpushim("sql", self.trace, "DELETE FROM launch", expect=2)
        self.gpushim("sql", self.trace, "CREATE TABLE t (a)", expect=2)
        self.assertEqual(self.trace.read_bytes(), before)

    def test_reading_leaves_nothing_beside_a_trace(self):
        """The program alone, without the library that would recover."""
        (self.folder / "bin").mkdir()
        program = shutil.copy(cli.GPUSHIM, self.folder / "bin")
        done = box.run([program, "sql", self.trace, "SELECT count(*) AS n FROM launch"], sim=False)
        self.assertIn("100", done.stdout)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["a.db", "bin"])

    def test_a_trace_that_is_being_written(self):
        writer = sqlite3.connect(self.trace)
        writer.execute("UPDATE meta SET value = 'elsewhere' WHERE key = 'host'")
        writer.commit()
        shown = self.gpushim("sql", self.trace, "SELECT value FROM meta WHERE key = 'host'").stdout
        self.assertIn("elsewhere", shown)
        writer.close()

    def test_what_is_no_database(self):
        os.mkfifo(self.folder / "fifo.db")
        (self.folder / "empty.db").touch()
        (self.folder / "text.db").write_text("SQLite format 4, honestly\n" * 9, encoding="utf-8")
        (self.folder / "short.db").write_bytes(self.trace.read_bytes()[:5000])
        for name, why in {"fifo.db": "not a regular file", "empty.db": "empty", "none.db": "No such file",
                          "short.db": "malformed", "text.db": "not a SQLite database"}.items():
            with self.subTest(name):
                query = "SELECT count(*) FROM launch"
                done = self.gpushim("sql", self.folder / name, query, expect=2, timeout=30)
                self.assertIn(name, done.stderr)
                self.assertIn(why, done.stderr)

    def test_a_name_cannot_write_on_the_terminal(self):
        shown = self.gpushim("sql", self.trace, "SELECT char(27) || '[31m' || char(0x202e) AS evil").stdout
        self.assertEqual(shown.splitlines()[1], r"\x1b[31m\xe2\x80\xae")


class ManyTraces(cli.Case):
    def ask(self, query):
        return json.loads(self.gpushim("sql", self.folder / "run", query, "--json").stdout)

    def test_11_and_64_files_are_one(self):
        for ranks in (11, 64):
            with self.subTest(ranks):
                shutil.rmtree(self.folder / "run", ignore_errors=True)
                made_traces.make_run(self.folder / "run", ranks)
                self.assertEqual(self.ask("SELECT count(*) AS n, count(DISTINCT rank) AS ranks FROM launch"),
                                 [{"n": 100 * ranks, "ranks": ranks}])
                self.assertEqual(self.ask("SELECT sum(launches) AS n FROM v_kernel_total"),
                                 [{"n": 100 * ranks}])
                self.assertIn(f"\nevents  {117 * ranks:,} produced",
                              self.gpushim("report", "--all", self.folder / "run").stdout)
                report = self.gpushim("report", self.folder / "run").stdout.splitlines()
                self.assertLessEqual(len(report), 45)

    def test_rows_say_whose_they_are(self):
        made_traces.make_run(self.folder / "run", 3)
        self.assertEqual(self.ask("SELECT trace, rank, bytes FROM copy WHERE rank = 2 LIMIT 1"),
                         [{"trace": 3, "rank": 2, "bytes": 1_000_000}])
        self.assertEqual(self.ask("SELECT file FROM traces WHERE rank = 1")[0]["file"],
                         str(self.folder / "run" / "gpushim.box.1.101.db"))
        query = ("SELECT trace, p.pid, t.pid AS same FROM process p JOIN traces t USING (trace)"
                 " WHERE trace = 2")
        self.assertEqual(self.ask(query), [{"trace": 2, "pid": 101, "same": 101}])

    def test_conditions_go_down_to_the_traces(self):
        made_traces.make_run(self.folder / "run", 2)
        window = "FROM launch WHERE enter_ns BETWEEN 12000 AND 32000"
        plan = " ".join(row["detail"] for row in self.ask(f"EXPLAIN QUERY PLAN SELECT * {window}"))
        self.assertIn('"enter_ns" >= ?1', plan)
        self.assertEqual(self.ask(f"SELECT count(*) AS n {window}"), [{"n": 6}])
        self.assertEqual(self.ask(f"SELECT count(*) AS n {window} AND trace = 2 AND dur_ns > 4001"),
                         [{"n": 2}])

    def test_the_newest_run_is_taken_and_the_others_named(self):
        made_traces.make_run(self.folder / "run", 2, run_key="old")
        made_traces.make(self.folder / "run" / "new.db", run_key="new", started_ns=10**9)
        done = self.gpushim("report", "--all", cwd=self.folder / "run")
        self.assertIn("117 produced", done.stdout)
        self.assertIn("holds 2 runs", done.stdout)
        self.assertIn("gpushim.box.1.101.db", done.stdout)

    def test_a_copy_is_not_counted_twice(self):
        made_traces.make_run(self.folder / "run", 1)
        shutil.copy(self.folder / "run" / "gpushim.box.0.100.db", self.folder / "run" / "copy.db")
        done = self.gpushim("report", "--all", self.folder / "run")
        self.assertIn("117 produced", done.stdout)
        self.assertIn("is a copy of another trace", done.stdout)

    def test_what_cannot_be_read_is_said_and_the_rest_reported(self):
        made_traces.make_run(self.folder / "run", 2)
        (self.folder / "run" / "broken.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
        done = self.gpushim("report", "--all", self.folder / "run", expect=3)
        self.assertIn("1 file not read", done.stdout)
        self.assertIn("234 produced", done.stdout)
        for shown in (done.stdout, done.stderr):
            self.assertIn("broken.db", shown)
        self.gpushim("report", self.folder / "run" / "broken.db", expect=2)

    def test_a_newer_trace_is_refused(self):
        made_traces.make_run(self.folder / "run", 1)
        with sqlite3.connect(self.folder / "run" / "gpushim.box.0.100.db") as base:
            base.execute("PRAGMA user_version = 99")
        said = self.gpushim("report", self.folder / "run", expect=2).stderr
        self.assertIn("written by a newer gpushim (schema 99", said)
