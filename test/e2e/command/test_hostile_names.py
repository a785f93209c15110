"""Names that come from strangers are text in everything we print, whatever they would do elsewhere."""
import csv
import io
import json
import os
import re
import sqlite3
import subprocess

import box
import cli
import kineto_made
import made_traces
from hostile_names import NAMES, NO_UTF8

WORKLOADS = box.TOOLS / "answer" / "workloads.py"
WIDEST = 400  # of a line of the report
IMPORTED = 16_384  # of a name, no more is read from other tools
# What is left of Markdown without code spans (as many backticks behind as before): our own bold and lists.
CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
LETTERS = r"[^<>\[\]&@`|*_~#$!\\{}^]"
ROW = re.compile(rf"^\|({LETTERS}*\|)+$")
TEXT = re.compile(rf"^(- )?(\*\*{LETTERS}*\*\*)?{LETTERS}*$")
TURNING = set("\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
EVERYWHERE = ("UPDATE meta SET value = :name WHERE key = 'host'",
              "UPDATE process SET executable = :name, tag = :name, run_key = :name",
              "UPDATE device SET name = :name, uuid = :name", "UPDATE thread SET name = :name",
              "UPDATE communicator SET uid = :name", "UPDATE api SET name = :name WHERE id = 5",
              "INSERT INTO environment VALUES (:name, :name)", "INSERT INTO name VALUES (2, :name, NULL)",
              "INSERT INTO marker VALUES (3000, 1, 'mark', 2, NULL, NULL, NULL, NULL, NULL, 0)",
              "INSERT INTO marker VALUES (700000, 1, 'pop', 2, 0, 2, NULL, NULL, 50000, 0)",
              "UPDATE ring_commit SET seq = seq + 2")


def acts(text):
    """Characters that do something on a terminal, or to the lines of a file."""
    return {hex(ord(letter)) for letter in text
            if (ord(letter) < 32 and letter != "\n") or 0x7f <= ord(letter) < 0xa0 or letter in TURNING}


class Names(cli.Case):
    def make(self, name, folder="plain"):
        """A trace in which everything is called so."""
        path = self.folder / folder / "a.db"
        path.parent.mkdir()
        made_traces.make(path, kernel=name)
        made_traces.add_device_times(path)
        base = sqlite3.connect(path)
        for statement in EVERYWHERE:
            base.execute(statement, {"name": name})
        base.commit()
        base.close()
        return path

    def printed(self, *words, expect=0, text=None):
        """What it prints, if that is text and acts on nobody."""
        done = subprocess.run([str(word) for word in (cli.GPUSHIM, *words)], check=False, timeout=60,
                              input=None if text is None else text.encode(), env=box.environment(sim=False),
                              stdin=subprocess.DEVNULL if text is None else None,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, expect, done.stderr)
        for stream in (done.stdout, done.stderr):
            self.assertEqual(acts(stream.decode("utf-8")), set(), words)
        return done.stdout.decode("utf-8")

    def for_each(self, look):
        """look(name, trace)"""
        for kind, name in NAMES.items():
            with self.subTest(kind):
                look(name, self.make(name, kind))

    def test_the_report(self):
        def look(name, trace):
            shown = self.printed("report", trace)
            self.assertLessEqual(max(map(len, shown.splitlines())), WIDEST)
            self.assertLessEqual(len(shown.splitlines()), 60)
            hidden = self.printed("report", trace, "--redact")
            self.assertIn("kernel-", hidden)
            self.assertIn("program-", hidden)
        self.for_each(look)

    def test_the_reports_json(self):
        def look(name, trace):
            report = json.loads(self.printed("report", trace, "--json"))
            self.assertIn(name, [kernel["name"] for kernel in report["kernels"]])
            self.assertEqual(report["run"]["hosts"], [name])
            self.assertEqual(report["run"]["tag"], name)
        self.for_each(look)

    def test_the_report_as_markdown(self):
        def look(_, trace):
            shown = self.printed("report", trace, "--markdown", "--all")
            self.assertIn("| :-- |", shown)
            for line in shown.splitlines():
                is_row = line.startswith("|")
                bare = CODE.sub("", line)
                self.assertRegex(bare, ROW if is_row else TEXT, line)
                self.assertNotRegex(bare, r"www\.|://", line)
                self.assertLessEqual(len(line), 3 * WIDEST)
        self.for_each(look)

    def test_sql_as_a_table(self):
        def look(name, trace):
            shown = self.printed("sql", trace, "SELECT text FROM name WHERE id = 1")
            self.assertEqual(len(shown.splitlines()), 2)
            self.assertLessEqual(max(map(len, shown.splitlines())), 100)
        self.for_each(look)

    def test_sql_as_csv(self):
        def look(name, trace):
            shown = self.printed_csv(trace)
            rows = list(csv.reader(io.StringIO(shown, newline="")))
            self.assertEqual(rows[0], ["text", "n"])
            self.assertEqual([row[1] for row in rows[1:]], ["1"])
            self.assertNotIn(rows[1][0][:1], ("=", "+", "-", "@", "\t", "\n", "\r"))
            if not acts(name) and name[0] not in "=@":
                self.assertEqual(rows[1][0], name)
        self.for_each(look)

    def printed_csv(self, trace):
        """As `printed`, but that a cell may have tabs, in quotes."""
        done = box.run([cli.GPUSHIM, "sql", trace, "SELECT text, 1 AS n FROM name WHERE id = 1", "--csv"],
                       sim=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertLessEqual(acts(done.stdout), {"0x9"})
        return done.stdout

    def test_sql_as_json(self):
        def look(name, trace):
            shown = self.printed("sql", trace, "SELECT text FROM name WHERE id = 1", "--json")
            self.assertEqual(json.loads(shown), [{"text": name}])
        self.for_each(look)

    def test_names_of_tables_and_columns(self):
        def look(name, trace):
            quoted = '"' + name.replace('"', '""')[:1000] + '"'
            base = sqlite3.connect(trace)
            base.execute(f"CREATE TABLE {quoted} ({quoted})")
            base.execute(f"INSERT INTO {quoted} VALUES (1)")
            base.commit()
            base.close()
            self.printed("sql", trace, text=f".tables\n.schema\nSELECT * FROM {quoted};\n")
            shown = self.printed("sql", trace, f"SELECT * FROM {quoted}", "--json")
            self.assertEqual(len(json.loads(shown)), 1)
        self.for_each(look)

    def test_what_is_no_utf8(self):
        trace = self.make("plain")
        base = sqlite3.connect(trace)
        base.execute("UPDATE name SET text = CAST(? AS TEXT) WHERE id = 1", (NO_UTF8,))
        base.execute("UPDATE process SET executable = CAST(? AS TEXT), tag = CAST(? AS TEXT)",
                     (NO_UTF8, NO_UTF8))
        base.commit()
        base.close()
        self.assertIn(r"\xff\xfe\xc0\xaf\xed\xa0\x80 half \xe2\x82", self.printed("report", trace))
        self.assertIn("\ufffd half \ufffd", json.dumps(json.loads(self.printed("report", trace, "--json")),
                                                       ensure_ascii=False))
        for option in ("--csv", "--json"):
            self.assertIn("half", self.printed("sql", trace, "SELECT text FROM name WHERE id = 1", option))
        self.assertIn("half", self.printed("sql", trace, "SELECT text FROM name WHERE id = 1"))

    def test_what_another_tool_recorded(self):
        for kind, name in NAMES.items():
            with self.subTest(kind):
                trace = kineto_made.Trace()
                for number in range(4):
                    trace.step(number, 1_000_000 * (1 + number), 900_000)
                    trace.kernel(name, 1_000_000 * (1 + number) + 1000, 1_000_000 * (1 + number) + 9000, 5000)
                run = self.folder / f"{kind}.run.db"
                self.printed("import", "kineto", trace.write(self.folder / f"{kind}.json.gz"), "-o", run)
                self.assertLessEqual(max(map(len, self.printed("report", run).splitlines())), WIDEST)
                report = json.loads(self.printed("report", run, "--json"))
                self.assertEqual([kernel["name"] for kernel in report["kernels"]],
                                 [name[:IMPORTED]])

    def test_files_that_are_called_so(self):
        folder = self.folder / "\x1b[31m'); DROP\nTABLE \u202e"
        folder.mkdir()
        made_traces.make(folder / "good.db")
        (folder / "bad\x1b[2J\n.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
        self.printed("sql", folder, "SELECT file FROM traces", expect=3)
        self.assertIn("MISSING", self.printed("report", folder, expect=3))
        self.printed("sql", folder / "absent\x1b[2J.db", "SELECT 1", expect=2)
        self.printed("report", folder / "bad\x1b[2J\n.db", expect=2)
        self.printed("no\x1b[2Jcommand", expect=2)

    def test_a_traced_program_that_names_things_so(self):
        names = [name for name in NAMES.values() if len(name) < 1000]
        program = self.folder / "trainer\x1b[31m.py"
        program.write_text(f"""
import sys
sys.path.insert(0, {str(WORKLOADS.parent)!r})
import workloads
gpu, = workloads.open_gpus(only=0)
for _ in range(20):
    workloads.mark()
    for name in {names!r}:
        gpu.launch(name)
    gpu.wait()
workloads.mark()
""", encoding="utf-8")
        python = self.folder / "py\x1b[31m=thon"
        os.symlink("/usr/bin/env", python)
        done = self.traced("python3", program, GPUSHIM_TAG=f"name={NAMES['terminal']}",
                           GPUSIM_CLOCK="stepped", GPUSIM_NAME=NAMES["html"])
        self.assertEqual(done.returncode, 0, done.stderr)
        (self.folder / "run").mkdir()
        for path in self.folder.glob("*.db"):
            path.rename(self.folder / "run" / path.name)
        self.printed("report", self.folder / "run")
        report = json.loads(self.printed("report", self.folder / "run", "--json"))
        self.assertLessEqual(set(names), {kernel["name"] for kernel in report["kernels"]})
        self.assertEqual(report["gpus"][0]["name"], "Simulated " + NAMES["html"])
