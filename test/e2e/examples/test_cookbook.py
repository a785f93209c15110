"""examples/sql: every file is one question, and any SQLite answers it as ours does."""
import json
import math
import os
import re
import shutil
import sqlite3
import subprocess

import box
import cli
import cookbook_run
import optional
from cookbook_run import COOKBOOK, QUESTIONS, is_for, remarks, source

README = COOKBOOK / "README.md"
ANSWERS = "## The questions\n"
SHOWN_ROWS = 3
# What SQLite 3.34 does not have.
NEWER = re.compile(r"->|\b(returning|materialized|full (outer )?join|right (outer )?join|distinct from)\b|"
                   r"\b(unixepoch|string_agg|concat|concat_ws|format|octet_length|if|json\w*|ceil|floor|ln|"
                   r"log\d*|pow|power|sqrt|exp|mod|trunc|median|percentile\w*)\(", re.IGNORECASE)


def rounded_otherwise(shown, found):
    """Since 3.43 SQLite's round() makes something else of a half (1.0005) than the one in our program:
    the last digit that is shown may be one more or less."""
    digits = max(len(repr(float(number)).partition(".")[2]) for number in (shown, found))
    return sqlite3.sqlite_version_info >= (3, 43) and digits <= 6 and \
        math.isclose(shown, found, rel_tol=0, abs_tol=1.01 * 10 ** -digits)


def same(shown, found):
    """Whether they are equal but for the last digits, which our JSON does not have."""
    if isinstance(shown, list):
        return len(shown) == len(found) and all(map(same, shown, found))
    if isinstance(shown, dict):
        return [*shown] == [*found] and all(map(same, shown.values(), found.values()))
    if isinstance(found, float):
        return isinstance(shown, (int, float)) and (math.isclose(shown, found, rel_tol=1e-13)
                                                    or rounded_otherwise(shown, found))
    return shown == found


class Questions(cookbook_run.Case):
    def test_a_file_is_a_question_and_one_query(self):
        self.assertGreaterEqual(len(QUESTIONS), 25)
        for question in QUESTIONS:
            with self.subTest(question):
                self.assertRegex(remarks(question)[0], r"^[A-Z].*\?$")
                self.assertIn(is_for(question), ("a run", "a trace", "two runs"))
                bare = re.sub(r"--.*|'[^']*'", "", source(question))
                self.assertEqual(bare.count(";"), 1)
                self.assertIsNone(NEWER.search(bare))

    def ours(self, question, *options):
        """What `gpushim sql` prints."""
        attach = f"ATTACH '{self.base()}' AS base;\n" if is_for(question) == "two runs" else ""
        done = subprocess.run([cli.GPUSHIM, "sql", self.database(question), *options], text=True, check=False,
                              input=attach + source(question), env=box.environment(sim=False),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.replace("[]\n", "", 1) if attach else done.stdout

    def test_each_is_answered_by_any_sqlite_and_by_ours(self):
        for question in QUESTIONS:
            with self.subTest(question):
                rows = self.ask(question)
                self.assertGreater(len(rows), 0)
                for column in rows[0]:
                    self.assertRegex(column, "^[a-z0-9_]+$")
                self.assertTrue(same(json.loads(self.ours(question, "--json")), rows))

    def test_the_shell_of_sqlite_reads_them(self):
        shell = shutil.which("sqlite3")
        if shell is None:
            self.skipTest(optional.lacks("sqlite3"))
        for question in QUESTIONS:
            attach = [f"ATTACH '{self.base()}' AS base"] if is_for(question) == "two runs" else []
            with self.subTest(question):
                done = box.run([shell, "-readonly", "-header", "-csv", self.database(question), *attach,
                                f".read {COOKBOOK / question}.sql"], sim=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(done.stdout.splitlines()[0].split(","), list(self.ask(question)[0]))

    def section(self, question):
        """Of the README: the question and how its answer begins."""
        lines = [f"    {line}" for line in self.ours(question).splitlines() if line]
        rest = len(lines) - 1 - SHOWN_ROWS
        more = [f"    … {rest} more"] if rest > 0 else []
        return ["", f"### {question}.sql", "", f"{remarks(question)[0]} *For {is_for(question)}.*", "",
                *lines[:1 + SHOWN_ROWS], *more]

    def test_the_readme_has_every_question(self):
        """Its figures are of one run: questions and columns have to be right. GOLDEN=write writes them."""
        sections = [self.section(question) for question in QUESTIONS]
        if os.environ.get("GOLDEN") == "write":
            by_hand = README.read_text(encoding="utf-8").split(ANSWERS)[0]
            written = "".join(line + "\n" for lines in sections for line in lines)
            README.write_text(by_hand + ANSWERS + written, encoding="utf-8")
        shown = [" ".join(line.split()) for line in README.read_text(encoding="utf-8").splitlines()]
        self.assertEqual([line[4:-4] for line in shown if line.startswith("### ")], QUESTIONS)
        for question, lines in zip(QUESTIONS, sections):
            start = shown.index(f"### {question}.sql")
            self.assertEqual(shown[start:start + 5], [" ".join(line.split()) for line in lines[1:6]])
