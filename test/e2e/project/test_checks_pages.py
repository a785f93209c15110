"""Each rule about what people read finds what it is there to find."""
import unittest

import test_checks

LINKED = {"a.md": "# A page, of `two`\n[b](b/c.md#how-it-is-42-) [x](https://example.org/x) `[x](gone.md)`\n",
          "b/c.md": "## How it is: 4/2 …\n[up](../a.md) [top](../a.md#a-page-of-two) [folder](../b)\n"}
README = """`build/gpushim`
[shim/](shim/README.md) [analysis/](analysis/README.md) `.ci/`
make demo
make test  # runs them
"""
SHORT = {"README.md": README, ".ci/run": "", "shim/a.cpp": "",
         "Makefile": "demo:\ndeb wheel: a\nall test: b\nNAME := x\n",
         "analysis/manual.md": "`make wheel`, `make A=b` and `make` make it\n"}
MADE = """## Variables
| `GPUSHIM_OUT, --out` | where |
## Exit codes
| `0` | fine |
| `2` | wrong |
## Examples
| `gpushim run` | runs |
"""
MANUAL = """# Manual
<!-- from `gpushim help --markdown` -->

%s
<!-- end of it -->
"""
SAID = {"analysis/manual.md": MANUAL % MADE, "shim/base/config.cpp": 'row("GPUSHIM_OUT");\n',
        "analysis/failure.h": "enum ExitCode { kFine = 0, kUsage = 2 };\n"}


class Pages(unittest.TestCase):
    setUp = test_checks.Rule.setUp
    check, assert_finds = test_checks.Rule.check, test_checks.Rule.assert_finds

    def test_links(self):
        for bad, complaint in (("a.md", "b/d.md: a.md leads nowhere"),
                               ("../a.md#other", "b/d.md: ../a.md#other is no heading there")):
            self.assert_finds("links", LINKED, {"b/d.md": f"[a]({bad})\n"}, complaint)

    def test_readme(self):
        for there, instead, complaint in (
                ("`.ci/`", "`.ci/`" + "\n" * 160, "164 lines; 160 at most"),
                ("`.ci/`", "`.ci/` `build/gpushim`", "build/gpushim is named more than once"),
                ("`.ci/`", "", "names no folder .ci/"),
                ("make test", "test", "no line that begins with make test"),
                ("runs them", "`sudo make cake X=y`", "README.md: the Makefile has no cake")):
            with self.subTest(complaint):
                self.assert_finds("readme", SHORT, {"README.md": README.replace(there, instead)}, complaint)

    def test_contributing(self):
        page = ".github/CONTRIBUTING.md"
        good = {page: "`make`, `a/b.cpp`, `a/` and `a/*.cpp`, `a/b.cpp COMMAND`\n", "a/b.cpp": ""}
        for name in ("a/c.cpp", "b/", "a/*.h"):
            self.assert_finds("contributing", good, {page: f"`{name}`\n"}, f"there is no {name}")
        self.assert_finds("contributing", good, {page: "nothing\n"}, "names no file")

    def program(self, prints):
        program = self.root / "build" / "gpushim"
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{prints}END\n", encoding="utf-8")
        program.chmod(0o755)

    def test_the_manual_s_reference(self):
        for there, instead, complaint in (("`GPUSHIM_OUT, --out`", "`--out`", "no row for GPUSHIM_OUT"),
                                          ("where", "`GPUSHIM_IN`", "nothing reads GPUSHIM_IN"),
                                          ("| `2` |", "| `4` |", "no row for the exit code 2")):
            with self.subTest(complaint):
                self.program(MADE)
                self.assertEqual(self.check("manual", SAID), (True, ""))
                made = MADE.replace(there, instead)
                self.program(made)
                passed, said = self.check("manual", {**SAID, "analysis/manual.md": MANUAL % made})
                self.assertEqual((passed, said), (False, f"analysis/manual.md: {complaint}\n"))

    def test_the_manual_names_what_gives_a_job_s_id(self):
        self.program(MADE)
        jobs = 'constexpr JobWords kJob[] = {{"FINE", {}}, {kOf, {}},\n{"A_JOB", {kOf}}};'
        page = MANUAL.replace("# Manual", "# Manual\n\n`A_JOB` `FINE`") % MADE
        named = {**SAID, "shim/machine/jobs.cpp": jobs, "analysis/manual.md": page}
        self.assertEqual(self.check("manual", named), (True, ""))
        without = {**named, "analysis/manual.md": named["analysis/manual.md"].replace("`A_JOB`", "A_JOB")}
        complaint = "analysis/manual.md: names no A_JOB, which gives a job's id\n"
        self.assertEqual(self.check("manual", without), (False, complaint))

    def test_the_manual_is_what_the_program_prints(self):
        self.program(MADE)
        for there, instead, complaint in (("fine", "well", "not what the program prints: make manual"),
                                          ("# Manual\n", "# Manual\n\n    gpushim run\n",
                                           "an example that stands twice: gpushim run"),
                                          ("<!-- end of it -->", "", "no place for the reference")):
            with self.subTest(complaint):
                bad = {"analysis/manual.md": (MANUAL % MADE).replace(there, instead)}
                self.assert_finds("manual", SAID, bad, complaint)
