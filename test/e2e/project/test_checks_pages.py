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
PROGRAM = r"""#!/bin/sh
if [ $# = 1 ]; then printf '  gpushim run -- CMD\n\nmore: export, ledger\n'; exit; fi
printf '  -o, --output FILE\n  --json  words\n'
"""
MANUAL = """### run
`gpushim run` `--output` (`-o`), `--json`
### export, ledger
`gpushim export`, `gpushim ledger`: `--output FILE`, `--json`
## Codes
| `GPUSHIM_OUT` | where |
| 0 | fine |
| 2 | wrong |
"""
SAID = {"analysis/manual.md": MANUAL, "shim/base/config.cpp": 'row("GPUSHIM_OUT");\n',
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

    def test_manual(self):
        program = self.root / "build" / "gpushim"
        program.parent.mkdir(parents=True)
        program.write_text(PROGRAM, encoding="utf-8")
        program.chmod(0o755)
        for there, instead, complaint in (
                ("### run", "### walk", "no heading for the command run"),
                (", `gpushim ledger`", "", "no heading for the command ledger"),
                (", `--json`\n###", "\n###", "run: no --json"),
                ("`GPUSHIM_OUT` |", "GPU |", "no row for GPUSHIM_OUT"),
                ("where", "`GPUSHIM_IN`", "nothing reads GPUSHIM_IN"),
                ("| 2 |", "| 4 |", "no row for the exit code 2")):
            with self.subTest(complaint):
                bad = {"analysis/manual.md": MANUAL.replace(there, instead, 1)}
                self.assert_finds("manual", SAID, bad, complaint)
