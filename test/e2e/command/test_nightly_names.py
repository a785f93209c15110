"""Names that come from strangers do nothing in what the comparison and the nightly report write: text, JSON,
Markdown, JUnit's XML, the page, and CSV of the history."""
import csv
import html.parser
import io
import json
import re
import sqlite3
import xml.etree.ElementTree

import cli
import nightly
from hostile_names import NAMES, NO_UTF8
from test_hostile_names import CODE, ROW, TEXT, acts


class Elements(html.parser.HTMLParser):
    """Which elements a page has, each with the names of its attributes, and what is text."""

    def __init__(self, page):
        super().__init__()
        self.found, self.words = set(), []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.add((tag, *sorted(name for name, _ in attrs)))

    def handle_data(self, data):
        self.words.append(data)


def call_it(run, name):
    """Everything that a stranger can name in the database of a run, or in its traces."""
    base = sqlite3.connect(run)
    as_text = "CAST(? AS TEXT)"
    tag = f"'model=' || {as_text} || ',' || {as_text}"
    base.execute(f"UPDATE process SET executable = {as_text}, tag = {tag}", (name,) * 3)
    base.execute(f"UPDATE device SET name = {as_text}, uuid = {as_text}", (name, name))
    base.execute(f"INSERT INTO environment VALUES ({as_text}, {as_text})", (name, name))
    base.execute(f"UPDATE name SET text = {as_text} || substr(text, -8) WHERE id <= 3", (name,))
    base.commit()
    base.close()


class Names(cli.Case):
    @classmethod
    def setUpClass(cls):
        cls.corpus = [*NAMES.values(), NO_UTF8]

    def setUp(self):
        super().setUp()
        self.history, self.output = self.folder / "h.db", self.folder / "out"
        self.output.mkdir()
        for number in (1, 2, 3):
            nightly.record(self.folder / f"run{number}", number, night=number, steps=60,
                           **({"GPUSIM_SLOW": "0:1.1"} if number == 3 else {}))

    def rename(self, name):
        self.history.unlink(missing_ok=True)
        for number in (1, 2, 3):
            trace, = (self.folder / f"run{number}").glob("*[0-9].db")
            call_it(trace, name)

    def night(self, number, *words, expect):
        return self.gpushim("history", "add", self.history, self.folder / f"run{number}", "--output",
                            self.output, *words, expect=expect).stdout

    def output_of(self, kind):
        return (self.output / f"nightly.{kind}").read_text(encoding="utf-8")

    def test_nothing_acts(self):
        plain = None
        for name in ("plain", *self.corpus):
            with self.subTest(name[:40]):
                self.rename(name)
                self.night(1, expect=3)
                self.night(2, expect=0)
                shown = self.night(3, expect=1)
                self.assertEqual(acts(shown), set())
                page = Elements(self.output_of("html"))
                plain = plain or page.found
                self.assertEqual(page.found, plain)
                self.look_at_markdown(self.output_of("md"))
                suite = xml.etree.ElementTree.fromstring(self.output_of("junit.xml"))
                self.assertEqual([one.tag for one in suite.iter()],
                                 ["testsuite", "testcase", "failure", "system-out"])
                self.assertLessEqual(acts(self.output_of("junit.xml")), {"0x9"})
                json.loads(self.output_of("json"))
                self.look_at_csv()
                self.look_at_comparison()

    def look_at_markdown(self, text):
        self.assertIn("| :-- |", text)
        for line in text.splitlines():
            self.assertRegex(CODE.sub("", line), ROW if line.startswith("|") else TEXT, line)
            self.assertNotRegex(CODE.sub("", line), r"www\.|://", line)

    def look_at_csv(self):
        done = self.gpushim("sql", self.history, "SELECT series, place, why FROM v_night", "--csv")
        self.assertLessEqual(acts(done.stdout), {"0x9"})
        for row in csv.reader(io.StringIO(done.stdout, newline="")):
            self.assertFalse([cell for cell in row if re.match(r"[=+\-@\t\n\r]", cell)], row)

    def look_at_comparison(self):
        file = self.folder / "junit.xml"
        done = self.gpushim("compare", self.folder / "run1", self.folder / "run3", "--junit", file, expect=1)
        self.assertEqual(acts(done.stdout + done.stderr), set())
        xml.etree.ElementTree.parse(file)
