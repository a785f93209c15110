"""Each rule of test/check finds what it is there to find: it passes a small tree, and fails the same tree
with one thing wrong."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import unittest.mock

import box
import optional

HEADER = "// What it is.\n#pragma once\n"
KNOBS = "KNOB(count, devices, GPUSIM_" + "DEVICES, 1)\n"


class Rule(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpushim-check-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def check(self, rule, files):
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        listing = self.root / "listing"
        listing.write_text("".join(f"{name}\n" for name in files), encoding="utf-8")
        env = {**box.environment(sim=False), "CHECK_FILES": str(listing), "GPUSHIM_BUILD": "build"}
        done = subprocess.run([str(box.ROOT / "test" / "check" / rule)], cwd=self.root, env=env, text=True,
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode == 0, done.stdout

    def assert_finds(self, rule, good, bad, complaint):
        passed, said = self.check(rule, good)
        self.assertEqual((passed, said), (True, ""))
        passed, said = self.check(rule, {**good, **bad})
        self.assertIn(complaint, said)
        self.assertFalse(passed)

    def test_what_other_programs_find(self):
        for program in ("clang-format", "shellcheck"):
            if shutil.which(program) is None:
                self.skipTest(optional.lacks("check", program))
        self.assert_finds("format", {"a.cpp": "int a;\n"}, {"b.cpp": "int   b;\n"}, "b.cpp:1:4")
        self.assert_finds("shell", {"a": "#!/bin/sh\necho a\n"}, {"c": "#!/bin/sh\nb=$(ls\n"}, "c:")

    def test_width(self):
        fine = {"a.py": "…" * 110, "a.md": "a" * 200}
        self.assert_finds("width", fine, {"b": "b" * 111}, "b:1: more than 110 columns")

    def test_python_syntax(self):
        self.assert_finds("python", {"a.py": "import os\n"}, {"b": "#!/usr/bin/env python3\ndef\n"}, "b:2")

    def test_python_newer_than_promised(self):
        newer = "match 1:\n    case 1:\n        pass\n"
        self.assert_finds("python", {"a.py": "import os\n"}, {"b.py": newer}, "b.py:3")
        for number, newer in enumerate(("from itertools import pairwise\n", "case.enterContext(open('a'))\n",
                                        "zip([1], [2], strict=True)\n")):
            with self.subTest(newer):
                self.assert_finds("python", {"a.py": "print(list(zip([1], [2])))\n"},
                                  {f"c{number}.py": newer}, "is younger than Python 3.9")

    def test_python_imports(self):
        good = {"a.py": "import own\nfrom os import path\n", "own.py": ""}
        self.assert_finds("python", good, {"b.py": "import numpy.linalg\n"}, "b.py:1: numpy is not in")

    def assembler(self, text):
        """A stand-in for ptxas, which comes first."""
        program = self.root / "bin" / "ptxas"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{text}", encoding="utf-8")
        program.chmod(0o755)
        path = f"{program.parent}:{os.environ['PATH']}"
        changed = unittest.mock.patch.dict(os.environ, PATH=path)
        changed.start()
        self.addCleanup(changed.stop)

    def test_ptx(self):
        head = "." + "version 7.0"
        texts = {"a.c": f'const char* ptx = "{head}\\n" ".entry KERNEL(){{}}";\n',
                 "b.cpp": '#include "head.h"\nconst char* ptx = PTX_HEAD ".entry KERNEL(){}";\n',
                 "c.h": f'// What it is.\nconst char* ptx = R"({head}\n.entry KERNEL(){{}})";\n',
                 "d.py": f'PTX = b"""\n{head}\n.entry KERNEL(){{}}"""\n'}
        good = {"head.h": f'#define PTX_HEAD "{head}\\n"\n',
                **{name: text.replace("KERNEL", "fine") for name, text in texts.items()}}
        self.assembler('[ "$1" != --help ] || { echo sm_90; exit; }\n'
                       'for file; do :; done\n! grep -o "entry wrong" "$file"\n')
        for name, text in texts.items():
            with self.subTest(name):
                wrong = {name: text.replace("KERNEL", "wrong")}
                self.assert_finds("ptx", good, wrong, f"{name}: entry wrong")
        beginning = {"a.c": f'const char* head = "{head}\\n";\n'}
        self.assert_finds("ptx", good, beginning, "a.c: has the beginning of a PTX text")
        self.assertEqual(self.check("ptx", {"a.c": "int a;\n"}), (False, "no PTX was found\n"))

    def test_ptx_by_another_assembler(self):
        """One that cannot do what is needed: skipped, but wrong where it was named."""
        self.assembler("exit 1\n")
        passed, said = self.check("ptx", {"a.c": "int a;\n"})
        self.assertTrue(passed and said.startswith("skipped: "), said)
        with unittest.mock.patch.dict(os.environ, PTXAS=str(self.root / "bin" / "ptxas")):
            self.assertFalse(self.check("ptx", {"a.c": "int a;\n"})[0])

    def test_includes(self):
        good = {"shim/ring.h": HEADER, "analysis/a.cpp": '#include "shim/ring/ring_format.h"\n',
                "test/sim/engine/clock.cpp": "#include <cstdint>\n"}
        for name, text in {"shim/a.cpp": '#include "../analysis/trace.h"\n',
                           "analysis/b.cpp": '#include "shim/ring.h"\n',
                           "test/sim/engine/b.cpp": "#include <cuda.h>\n",
                           "test/sim/driver/b.cpp": '#  include "shim/ring.h"\n',
                           "test/sim/cudart/b.cpp": '#include "../engine/clock.h"\n',
                           "b.h": "#pragma once\n", "c.h": "// What it is.\n"}.items():
            with self.subTest(name):
                self.assert_finds("includes", good, {name: text}, name)

    def library(self, name, *options):
        """build/sim/NAME from lib.c in the tree."""
        out = self.root / "build" / "sim" / name
        out.parent.mkdir(parents=True, exist_ok=True)
        compile_c = ["g++", "-x", "c", "-shared", "-fPIC", "-o", out, self.root / "lib.c"]
        subprocess.run([*compile_c, *options], check=True)

    def exports(self, name, source, expected):
        rows = {"test/sim/exports.def": "// EXPORT(a, b)\nEXPORT(cuInit, cuInit, cuInit, 2000, none)\n"}
        (self.root / "lib.c").write_text(source, encoding="utf-8")
        self.library(name)
        self.assertEqual(self.check("exports", rows), (not expected, expected))

    def test_one_definition(self):
        good = {"analysis/a.h": HEADER + "struct Row {\n",
                "analysis/b.h": HEADER + "struct Row;\nclass Line {\n"}
        for other in ("struct Row {", "class Row final {", "struct Line : Row {", "enum class Row { kOne };"):
            with self.subTest(other):
                self.assert_finds("one_definition", good, {"analysis/c/d.h": HEADER + other + "\n"},
                                  "analysis/c/d.h:3:" + other + " is defined twice")

    def test_exports(self):
        self.exports("libcuda.so.1", "void cuInit(void){}", "")
        self.exports("libcuda.so.1", "void cuInit(void){} void extra(void){}", "libcuda.so.1 exports extra\n")
        self.exports("libcuda.so.1", "void cuinit(void){}",
                     "libcuda.so.1 lacks cuInit\nlibcuda.so.1 exports cuinit\n")

    def test_exports_of_the_others(self):
        for name, good in {"libnccl.so.2": "pncclSend", "libnvidia-ml.so.1": "nvmlInit",
                           "libcudart.so.13": "__cudaPush", "libgpusim.so": "_ZN6gpusim3nowEv"}.items():
            with self.subTest(name):
                self.exports(name, f"void {good}(void){{}}", "")
                self.exports(name, f"void {good}(void){{}} void cu(void){{}}", f"{name} exports cu\n")
                (self.root / "build" / "sim" / name).unlink()

    def test_needed(self):
        (self.root / "lib.c").write_text("void ncclGet(void){}", encoding="utf-8")
        self.library("libcuda.so.1", "-Wl,-soname,libcuda.so.1")
        self.library("libnccl.so.2", "-Wl,-soname,libnccl.so.2")
        self.assertEqual(self.check("needed", {}), (True, ""))
        sim = self.root / "build" / "sim"
        self.library("libnccl.so.2", "-Wl,-soname,libnccl.so.2", "-Wl,--no-as-needed", f"-L{sim}",
                     "-l:libcuda.so.1")
        self.assertEqual(self.check("needed", {}), (False, "libnccl.so.2 needs libcuda.so.1\n"))
        self.library("libnccl.so.2")
        self.assertEqual(self.check("needed", {}), (False, "libnccl.so.2 has another soname\n"))

    def test_no_box_in_the_product(self):
        self.assert_finds("no_box_in_the_product", {"shim/a.cpp": "\n", "test/a.cpp": "gpusim\n"},
                          {"analysis/b.cpp": 'getenv("' + "GPUSIM_" + 'X")'}, "analysis/b.cpp:1")

    def test_knobs(self):
        name = "GPUSIM_"
        good = {"test/sim/engine/knobs.def": KNOBS, "test/sim/README.md": f"`{name}DEVICES`"}
        self.assert_finds("knobs", good, {"test/sim/README.md": "nothing"},
                          "a knob that test/sim/README.md does not")
        self.assert_finds("knobs", good, {"test/sim/README.md": f"{name}DEVICES {name}B"},
                          "named in test/sim/README.md, but no knob")
        self.assert_finds("knobs", good, {"test/unit/b.cpp": f'knobs("{name}B=1")'},
                          f"{name}B: used, but no knob")
        self.assert_finds("knobs", good, {"test/sim/engine/knobs.def": ""}, "has no rows")

    def test_sql(self):
        good = {"a.sql": "CREATE VIEW v AS SELECT t.a FROM missing t; -- a remark\n"}
        self.assert_finds("sql", good, {"b.sql": "CREATE VIEW w AS SELEC 1;\n"}, "b.sql: near")
        self.assert_finds("sql", good, {"b.sql": "SELECT (1\n"}, "b.sql: incomplete input")

    def test_flags(self):
        good = {"analysis/a.cpp": '"l.flags & " + bit; flags && 1; row.flags & kRowFailed;\n',
                "shim/a.sql": "SELECT ran(l.flags), sides & 7;\n", "test/a.py": "flags & 7\n"}
        for name, text in {"shim/b.sql": "SELECT (l.flags & 32) / 32;", "shim/b.h": "row[flags] & 4",
                           "analysis/b.cpp": '" WHERE flags & 7 = 0"',
                           "analysis/b.h": "row.flags & (1 | 2)"}.items():
            with self.subTest(name):
                self.assert_finds("flags", good, {name: f"\n{text}\n"}, f"{name}:2:")

    def test_portable_sql(self):
        where = "analysis/run/sql/derive/"
        good = {f"{where}a.sql": """-- FILTER in a remark, 'GLOB' in a text
INSERT INTO metric (name, value)
WITH ordered (place, a) AS (
  SELECT row_number() OVER (PARTITION BY t.b ORDER BY t.a), t.a FROM t
), running AS (
  SELECT sum(o.a) OVER (ORDER BY o.place ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS so_far,
    'max(a, b) / rowid' AS words FROM ordered o
)
SELECT r.words, CAST(max(r.so_far) AS DOUBLE) / count(*) FROM running r GROUP BY r.words;
""", "analysis/run/sql/views/v.sql": "CREATE VIEW v AS SELECT max(a, b) / 2 FROM t GROUP BY 1;\n"}
        for text, complaint in {
                "SELECT sum(a) FILTER (WHERE b) FROM t;": "FILTER",
                "SELECT max(a, b) FROM t;": "max() of several",
                "SELECT max(coalesce(a, b)), min(a, 1) FROM t;": "min() of several",
                "SELECT a / b FROM t;": "/ of what is no CAST",
                "SELECT CAST(a AS INTEGER) / b FROM t;": "/ of what is no CAST",
                "SELECT rowid FROM t;": "rowid",
                "SELECT julianday(a) FROM t;": "julianday",
                'SELECT "a" FROM t;': "double quotes",
                "SELECT a, printf(a) FROM t;": "printf()",
                "SELECT percentile_cont(a) FROM t;": "percentile",
                "SELECT sum(a) OVER (ORDER BY b) FROM t;": "without ROWS BETWEEN",
                "SELECT a FROM t GROUP BY 1;": "GROUP BY a number",
                "SELECT a + 1 AS more FROM t GROUP BY more;": "GROUP BY more",
                "SELECT a & 1 FROM t;": "spell differently",
                "INSERT OR REPLACE INTO t SELECT 1;": "OR REPLACE",
                "SELECT a FROM t LIMIT 1;": "LIMIT"}.items():
            with self.subTest(text):
                self.assert_finds("portable_sql", good, {f"{where}b.sql": f"\n{text}\n"}, f"{where}b.sql:2: ")
                self.assertIn(complaint, self.check("portable_sql", {f"{where}b.sql": text})[1])

    METRIC = ("-- of: gpu, unit: share, kind: measured, version: 1\n-- words: so much\n-- absent: no a\n"
              "SELECT a AS gpu_id, b AS value FROM v;\n")

    def metrics(self, page, metric=METRIC):
        """Whether this is a metric, and this page explains it."""
        return self.check("metrics", {
            "analysis/run/sql/tables/a.sql": "CREATE TABLE t (a INTEGER, b REAL);\n",
            "analysis/run/sql/views/a.sql": "CREATE VIEW v AS SELECT a, b FROM t;\n",
            "analysis/metric/some_share.sql": metric, "analysis/metric/README.md": page})

    def test_metrics(self):
        fence = "`" * 3
        timeline = f"{fence}\nGPU |──some──|\n{fence}\n"
        sql = f"{fence}sql\nSELECT a FROM v;\n{fence}\n"
        good = f"## One\n`some_share`\n{timeline}{sql}"
        self.assertEqual(self.metrics(good), (True, ""))
        self.assertEqual(self.metrics(good, self.METRIC + "INSERT INTO t SELECT 1, 2;\n"), (True, ""))
        for page, complaint in {
                f"## One\n{timeline}{sql}": "some_share: not in",
                f"## One\n`some_share`\n{sql}": "some_share: no timeline",
                f"## One\n`some_share`\n{timeline}": "some_share: no example in SQL",
                f"## One\n`some_share`\n## Two\n{timeline}{sql}": "some_share: no",
                f"## One\n`some_share` `other_share`\n{timeline}{sql}": "other_share",
                f"## One\n`some_share`\n{timeline}{sql.replace('v;', 'w;')}": "no such table: w"}.items():
            with self.subTest(complaint):
                passed, said = self.metrics(page)
                self.assertIn(complaint, said)
                self.assertFalse(passed)
        for words, others, complaint in (("version: 1", "version: a", "its head is not"),
                                         ("-- absent: no a\n", "", "its head is not"),
                                         ("AS gpu_id", "AS id", "gives id, value where metrics of gpu give"),
                                         ("FROM v;", "FROM w;", "no such table: w"),
                                         ("FROM v;", "FROM v; SELEC 1;", "syntax error")):
            with self.subTest(others):
                passed, said = self.metrics(good, self.METRIC.replace(words, others))
                self.assertIn(complaint, said)
                self.assertFalse(passed)

    def test_findings(self):
        def rule(name):
            return f'const RuleRegistration kRegistration({{"{name}", Scope::kOneGpu, look}});\n'
        table = "| id | when | gain | try |\n|---|---|---|---|\n| `a` | b | c | d |\n"
        good = {"analysis/rule/a.cpp": rule("a"), "analysis/rule/words.cpp": "int words;\n",
                "analysis/rule/README.md": table}
        self.assert_finds("findings", good, {"analysis/rule/b.cpp": rule("b")}, "no row for b")
        self.assert_finds("findings", good, {"analysis/rule/c.cpp": rule("a")}, "c.cpp: registers a")
        for row, complaint in {"`b` | c | d | e": "b is no rule", "`a` | b | c | d": "two rows"}.items():
            self.assert_finds("findings", good, {"analysis/rule/README.md": f"{table}| {row} |\n"}, complaint)

    def test_cases(self):
        def case(says, **more):
            return json.dumps({"says": says, **more})
        rules = "| id | when | gain | try |\n|---|---|---|---|\n" + "".join(
            f"| `{name}` | b | c | d |\n" for name in ("a", "note"))
        good = {"analysis/rule/README.md": rules, "examples/cases/a/expect.json": case("a", fixed=[]),
                "examples/cases/note/expect.json": case(None, also=["note"], fixed=[])}
        for bad, complaint in (
                ({"analysis/rule/README.md": rules + "| `b` | b | c | d |\n"}, "b has no case"),
                ({"examples/cases/a/expect.json": case("a")}, "a: none of its cases has a fixed loop"),
                ({"examples/cases/c/expect.json": case(["a", "b"], fixed=[])}, "c: more than one")):
            with self.subTest(complaint):
                self.assert_finds("cases", good, bad, complaint)

    def test_schema(self):
        def views(*names):
            rows = " UNION ALL ".join(f"SELECT flags FROM {name}" for name in names)
            return {"shim/schema/views.sql": f"CREATE VIEW v_all AS {rows};",
                    "shim/schema/totals.sql": f"CREATE VIEW v_ledger AS {rows};"}
        good = {"shim/schema/tables.def": "EVENT(a, call, one, none)\nTABLE(t, translated, stays)\n",
                "shim/schema/README.md": "| freed | x | `a` |\n| stays | x | `t` |\n", **views("a")}
        more = {"shim/schema/tables.def": "EVENT(a, call, one, none)\nEVENT(b, call, one, none)\n",
                "shim/schema/README.md": "| freed | x | `a, b` |\n"}
        self.assert_finds("schema", good, {"shim/schema/README.md": "| stays | x | `t` |\n"}, "has a")
        self.assert_finds("schema", good, more, "v_all has no rows of b")
        self.assert_finds("schema", good, more, "v_ledger has no rows of b")

    def test_places(self):
        self.assert_finds("places", {"a": "${HOME}/ro" + "ot/a https://example.org/home/ \n"},
                          {"b": "cd " + "/root" + "/x\n"}, "b:1")
        self.assert_finds("places", {"a": ""}, {"b": "https://py" + "pi.org/simple\n"}, "b:1")

    def test_length_warns_only(self):
        passed, said = self.check("length", {"a.cpp": "\n" * 400, "b.cpp": "\n" * 401, "c.def": "\n" * 500})
        self.assertEqual((passed, said), (True, "warning: b.cpp has 401 lines\n"))


class Loop(unittest.TestCase):
    def test_one_failing_rule_fails_the_check(self):
        with tempfile.TemporaryDirectory() as folder:
            check = pathlib.Path(folder) / "test" / "check"
            check.mkdir(parents=True)
            rules = {"run": (box.ROOT / "test" / "check" / "run").read_text(encoding="utf-8"),
                     "fine": "#!/bin/sh\ngrep -q test/check/fine $CHECK_FILES\n",
                     "wrong": "#!/bin/sh\necho why\nexit 1\n"}
            for name, text in rules.items():
                (check / name).write_text(text, encoding="utf-8")
                (check / name).chmod(0o755)
            for git in (["init", "-q"], ["add", "."]):
                subprocess.run(["git", *git], cwd=folder, check=True)
            done = box.run([check / "run"], sim=False)
            self.assertEqual(done.stdout.splitlines(), ["ok      fine", "FAILED  wrong", "        why",
                                                        "1 passed, 1 failed"])
            self.assertEqual(done.returncode, 1)
            self.assertEqual(box.run([check / "run", "fine"], sim=False).returncode, 0)
