"""What people type: help, versions, slips, and options that say what would be right."""
import json
import pathlib
import re
import subprocess
import unicodedata

import box
import cli
import made_traces

NIGHTLY = box.ROOT / "scripts/nightly_report.sh"


def columns(text):
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)


class Help(cli.Case):
    def help(self, word):
        return self.gpushim("help", word).stdout

    def test_the_version(self):
        for words in (["-V"], ["--version"], ["version"]):
            self.assertRegex(self.gpushim(*words).stdout, r"\Agpushim \d\S*\n\Z")

    def test_a_command(self):
        self.assertEqual(self.help("report"), self.gpushim("report", "--help").stdout)
        self.assertEqual(self.gpushim("--help", "sql").stdout, self.gpushim("sql", "--help").stdout)
        self.assertIn("print the version", self.help("version"))
        for words in (["help"], ["-h"]):
            self.assertEqual(self.gpushim(*words).stdout, self.gpushim("--help").stdout)

    def test_every_metric(self):
        names = [path.stem for path in (box.ROOT / "analysis/metric").glob("*.sql")]
        self.assertGreater(len(names), 30)
        for name in names:
            self.assertTrue(self.help(name).startswith(f"{name} (metric, "), name)
        self.assertIn("at least one operation ran, in whole timed steps", self.help("busy_share"))

    def test_every_cause_and_finding(self):
        rows = re.compile(r"^\| `(\w+)` \|", re.M)
        for page, kind in (("idle", "cause of idle time"), ("rule", "finding")):
            names = rows.findall((box.ROOT / f"analysis/{page}/README.md").read_text(encoding="utf-8"))
            self.assertGreater(len(names), 15)
            for name in names:
                self.assertIn(f"{name} ({kind}", self.help(name))
        self.assertIn("input_wait, input_cpu", self.help("input"))

    def test_a_finding_s_row_is_told(self):
        row = re.compile(r"^\| `(\w+)` \| (.+) \| (.+) \| (.+) \|$", re.M)
        for name, when, gain, change in row.findall(
                (box.ROOT / "analysis/rule/README.md").read_text(encoding="utf-8")):
            said = self.help(name)
            for words in (f"  found when: {when}\n", f"  gain: {gain}\n", f"  to try: {change}\n"):
                self.assertIn(words, said)

    def test_a_word_of_two_kinds_is_explained_twice(self):
        self.assertRegex(self.help("launch_bound"), r"\Alaunch_bound \(cause(.|\n)*launch_bound \(finding")

    def test_every_variable_that_run_takes(self):
        options = set(re.findall(r"^  (?:-[a-z], )?--([a-z-]+)", self.gpushim("run", "--help").stdout, re.M))
        self.gpushim("help", "GPUSHIM_SUMMARISE", expect=2)  # what run does when the program has ended
        self.assertIn("max-mb", options)
        for option in options - {"summarise"}:
            name = "GPUSHIM_" + option.upper().replace("-", "_")
            self.assertIn(f"{name} (variable, `gpushim run --{option}", self.help(name))

    def test_lists_of_the_manual(self):
        for word, row in (("variables", "GPUSHIM_MAX_MB, --max-mb N "), ("exit-codes", "3 "),
                          ("files", "gpushim.run.db "), ("examples", "gpushim run -- python train.py ")):
            self.assertIn(f"\n  {row}", "\n" + self.help(word))
            self.assertIn(word, self.gpushim("--help").stdout)

    def test_the_page_for_man(self):
        page = self.gpushim("help", "--man").stdout
        for heading in ("NAME", "SYNOPSIS", "COMMANDS", "ENVIRONMENT", "EXIT STATUS", "FILES", "EXAMPLES"):
            self.assertIn(f"\n.SH {heading}\n", page)
        self.assertIn("\n.TP\n\\fBGPUSHIM_MAX_MB, \\-\\-max\\-mb N\\fR\n", page)
        for line in page.splitlines():
            self.assertRegex(line, r"\A(\.(TH|SH|SS|TP|nf|fi)\b|[^.'])|\A\Z")

    def test_a_word_that_nobody_knows(self):
        for word, meant in (("bussy_share", "busy_share"), ("GPUSHIM_BUGDET", "GPUSHIM_BUDGET"),
                            ("stragler", "straggler"), ("reprot", "report")):
            said = self.gpushim("help", word, expect=2).stderr
            self.assertRegex(said, rf"nothing is called '{word}'; did you mean .*\b{meant}\b.*\?")
        self.assertNotIn("did you mean", self.gpushim("help", "quux", expect=2).stderr)

    def test_columns_are_as_wide_as_they_are_drawn(self):
        for words in (["--help"], *([name, "--help"] for name in ("run", "report", "sql", "export"))):
            shown = self.gpushim(*words).stdout
            lines = [re.match("  ((?:gpushim|-).*?[^ ] {2,})", line) for line in shown.splitlines()[2:]]
            begins = {columns(line[1]) for line in lines if line}
            self.assertEqual(len(begins), 1, shown)

    def test_the_nightly_report_has_help_too(self):
        done = subprocess.run([NIGHTLY, "--help"], text=True, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("--on-regression CMD", done.stdout)
        done = subprocess.run([NIGHTLY, "--helf"], text=True, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stdout), (2, ""))


class Slips(cli.Case):
    def test_commands_and_options(self):
        for words, said in ((["reprot"], "there is no command 'reprot'; did you mean gpushim report?"),
                            (["report", "--jsno"], "no option --jsno; did you mean --json?"),
                            (["compare", "a", "b", "--treshold=3%"], "did you mean --threshold?"),
                            (["report", "--quux"], "no option --quux; --help lists them")):
            self.assertIn(said, self.gpushim(*words, expect=2).stderr)

    def test_places_where_there_is_nothing(self):
        empty = self.folder / "empty"
        empty.mkdir()
        for command in ("report", "sql", "ledger", "analyze"):
            with self.subTest(command):
                said = self.gpushim(command, empty, "SELECT 1", expect=2).stderr if command == "sql" else \
                    self.gpushim(command, empty, expect=2).stderr
                self.assertIn(f"no trace to read in {empty}", said)
                self.assertIn("gpushim run -- PROGRAM", said)
                said = self.gpushim(command, self.folder / "none", expect=2).stderr
                none = f"{self.folder}/none: No such file or directory"
                self.assertRegex(said, f"{none}; .*(gpushim run|give a)")


class Options(cli.Case):
    def setUp(self):
        super().setUp()
        self.traces = self.folder / "traces"
        made_traces.make_run(self.traces, 1)

    def refused(self, *words):
        return self.gpushim("report", self.traces, *words, expect=2).stderr

    def test_steps_that_are_not_there(self):
        there = self.gpushim("report", self.traces, "--from", 0)
        self.assertEqual(there.stderr, "")
        last, = self.gpushim("sql", self.traces / "gpushim.run.db",
                             "SELECT max(number) FROM v_counted_step", "--csv").stdout.split()[1:]
        self.gpushim("report", self.traces, "--from", last)
        said = self.refused("--from", int(last) + 1)
        self.assertRegex(said, rf"--from {int(last) + 1}: no step is there; "
                         rf"the steps that count are \d+ to {last}\n")
        self.assertIn("--from 900 --to 901: no step", self.refused("--from", 900, "--to", 901))
        self.assertIn("--to -5: not understood", self.refused("--to=-5"))

    def test_iterations_are_two_steps_in_one_word(self):
        for words in (":", "20", "a:b", "4:2"):
            self.refused("--iterations", words)
        self.assertIn("not both", self.refused("--iterations", "2:4", "--to", 5))

    def test_a_bandwidth_without_a_unit(self):
        said = self.refused("--bandwidth", "300")
        self.assertIn("--bandwidth 300: not understood; write its unit, too: 300GB/s or 300Gbit/s", said)
        self.assertIn("--bandwidth-between 5e9", self.refused("--bandwidth-between", "5e9"))

    def test_the_traces_left_out_are_few_by_name(self):
        for number in range(17):
            (self.traces / f"broken{number:02}.db").write_text("no database", encoding="utf-8")
        said = self.gpushim("report", self.traces, expect=3).stderr.splitlines()
        self.assertEqual(len(said), 6)
        self.assertEqual(said[-1], "gpushim: left out 12 more")
        for number in range(17):
            made_traces.make(self.traces / f"older{number:02}.db", run_key=f"run{number}",
                             started_ns=-1 - number)
        shown = self.gpushim("report", self.traces, expect=3).stdout
        note, = re.findall(r"(?m)^note .*(?:\n {11}.*)*", shown)
        note = " ".join(note.split())
        self.assertEqual(note.count("older"), 5, note)
        self.assertIn("… and 12 more", note)
        (self.traces / "gpushim.run.db").unlink()
        for path in [*self.traces.glob("older*"), *self.traces.glob("gpushim*")]:
            path.unlink()
        said = self.gpushim("report", self.traces, expect=2).stderr
        self.assertEqual(said.count("broken"), 5)
        self.assertIn("… and 12 more", said)


class Queries(cli.Case):
    def setUp(self):
        super().setUp()
        self.traces = self.folder / "traces"
        made_traces.make_run(self.traces, 1)
        self.trace, = self.traces.glob("*.db")

    def test_a_query_that_begins_with_a_comment(self):
        for query in ("-- top\nSELECT 1 AS one", "--top\nSELECT 1 AS one", "--\tx = 1\nSELECT 1 AS one"):
            self.assertEqual(self.gpushim("sql", self.trace, query, "--csv").stdout, "one\n1\n")

    def test_a_table_that_is_not_there(self):
        said = self.gpushim("sql", self.trace, "SELECT * FROM v_kernel_totals", expect=2).stderr
        self.assertRegex(said, "no such table: v_kernel_totals; there are v_kernel_total, "
                         r".* … and \d+ more \(\.tables")
        self.assertEqual(len(said.splitlines()), 1)
        self.assertLess(len(said), 300)
        self.assertIn("v_kernel_total\n", self.gpushim("sql", self.trace, ".tables").stdout)

    def test_of_a_folder_those_of_the_run_are_named_too(self):
        self.gpushim("report", self.traces)
        said = self.gpushim("sql", self.traces, "SELECT * FROM findings", expect=2).stderr
        self.assertIn("no such table: findings; there are finding, ", said)
        self.assertIn("there are launch, ", self.gpushim("sql", self.traces, "SELECT * FROM launches",
                                                         expect=2).stderr)


class Export(cli.Case):
    def test_without_a_name_it_has_one(self):
        traces = self.folder / "traces"
        made_traces.make_run(traces, 2)
        done = self.gpushim("export", "chrome", traces, cwd=self.folder)
        names = [f"gpushim.rank-{rank}.pt.trace.json.gz" for rank in (0, 1)]
        self.assertEqual(done.stdout.splitlines(), names)
        for name in names:
            self.assertIn(f"gpushim: {name}: everything", done.stderr)
        shown = subprocess.run(["zcat", self.folder / names[0]], check=True, stdout=subprocess.PIPE).stdout
        self.assertIn("traceEvents", json.loads(shown))
        self.assertEqual(pathlib.Path(traces / names[0]).exists(), False)
