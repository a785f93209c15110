"""scripts/python: the module gpushim, its marks on the box, a report as dataclasses, a run's rows, and what a
notebook shows."""
import asyncio
import contextlib
import dataclasses
import doctest
import html
import importlib
import json
import os
import pathlib
import pickle
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import warnings
import xml.etree.ElementTree

import box
import browser
import cli
import in_memory
import optional
import preload
import random_traces
import report_schema
import shim_host
import test_python_lines
import trained

MAKE = box.ROOT / "scripts" / "python" / "make-module"
PARTS = ("", "._drawing", "._marks", "._page", "._program", "._run", "._timeline", ".figures")

MARKED = """
import ctypes, threading
import gpushim
driver = ctypes.CDLL("libcuda.so.1")
assert driver.cuInit(0) == 0 and driver.cuDevicePrimaryCtxRetain(ctypes.byref(ctypes.c_void_p()), 0) == 0
gpushim.step()
gpushim.step(64)
gpushim.mark("gr\\u00fc\\u00df\\udc80\\0 end")

@gpushim.range("called")
def function(depth):
    return function(depth - 1) if depth else "returned"

@gpushim.range("generated")
def generator():
    yield 1
    gpushim.mark("in the generator")
    return "given"

print(function(1), list(generator()), function.__name__)
with gpushim.range("here"):
    thread = threading.Thread(target=gpushim.range("there")(lambda: None))
    thread.start()
    thread.join()
try:
    with gpushim.range("left by an error"):
        raise KeyError
except KeyError:
    print("raised")
print(gpushim.lib_path())
"""

NOTEBOOK = """
import json, sys
import nbformat, nbclient
cells = ["import gpushim; run = gpushim.open('.'); run", "run.report",
         "run.frame('SELECT cause, sum(ns) AS ns FROM gap GROUP BY 1 ORDER BY 1')"]
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
nbclient.NotebookClient(notebook, timeout=200, kernel_name="python3").execute()
print(json.dumps([cell.outputs[0].data["text/html"] for cell in notebook.cells]))
"""


class Module(unittest.TestCase):
    """With the module as it is packed, and a run of two ranks."""

    @classmethod
    def setUpClass(cls):
        cls.folder = in_memory.folder_of(cls)
        subprocess.run([MAKE, cls.folder], check=True)
        trained.train(cls.folder / "traces", 2)
        was = os.environ["PATH"]
        os.environ["PATH"] = f"{box.BUILD}:{was}"
        cls.addClassCleanup(os.environ.__setitem__, "PATH", was)
        sys.path.insert(0, str(cls.folder))
        cls.addClassCleanup(sys.path.remove, str(cls.folder))
        cls.gpushim = importlib.import_module("gpushim")
        cls.run_of_two = cls.gpushim.open(cls.folder / "traces")

    def path(self):
        return {"PYTHONPATH": self.folder, "PATH": os.environ["PATH"]}


class Marks(Module):
    def test_a_program_marks_what_it_does(self):
        script, trace = self.folder / "marked.py", self.folder / "marked.db"
        script.write_text(MARKED, encoding="utf-8")
        alone = box.run([sys.executable, "-B", script], self.path())
        self.assertEqual(alone.stdout, "returned [1] function\nraised\nlibgpushim.so\n", alone.stderr)
        done = box.run([sys.executable, "-B", script],
                       {**self.path(), "LD_PRELOAD": preload.SHIM, "GPUSHIM_OUT": trace})
        self.assertEqual(done.stdout, alone.stdout, done.stderr)
        marks = preload.query(trace, "SELECT kind, value, name FROM v_marker "
                                     "WHERE kind IN ('step', 'mark') ORDER BY enter_ns")
        self.assertEqual(marks, [("step", None, None), ("step", 64, None),
                                 ("mark", None, "gr\u00fc\u00df?  end"), ("mark", None, "in the generator")])
        ranges = preload.query(trace, "SELECT name, kind, depth, dur_ns IS NULL FROM v_range "
                                      "ORDER BY start_ns")
        self.assertEqual(ranges, [("called", "thread", 0, 0), ("called", "thread", 1, 0),
                                  ("generated", "process", None, 0), ("here", "thread", 0, 0),
                                  ("there", "thread", 0, 0), ("left by an error", "thread", 0, 0)])
        inside = preload.query(trace, "SELECT count(*) FROM v_range r JOIN v_marker m ON m.enter_ns BETWEEN "
                                      "r.start_ns AND r.end_ns WHERE r.name = 'generated' AND "
                                      "m.kind = 'mark'")
        self.assertEqual(inside, [(1,)])

    def test_a_report_says_what_a_range_launched(self):
        work = shim_host.ShimTest()
        work.folder = self.folder
        library = work.build("host.c", "work.so", "-DWAY=DLOPEN", "-DIN_LIBRARY")
        script, trace = self.folder / "launches.py", self.folder / "launches.db"
        script.write_text(f"import ctypes, gpushim\nwork = ctypes.CDLL('{library}').work\nwork()\n"
                          "with gpushim.range('whole'):\n    with gpushim.range('work'): work()\n"
                          "    work()\n", encoding="utf-8")
        done = box.run([sys.executable, "-B", script],
                       {**self.path(), "LD_PRELOAD": preload.SHIM, "GPUSHIM_OUT": trace})
        self.assertEqual(done.returncode, 0, done.stderr)
        ranges = {one.name: one.operations for one in self.gpushim.report(trace).range_kernels}
        operations = shim_host.LAUNCHES + 2  # and two copies
        self.assertEqual(ranges, {"work": operations, "whole": 2 * operations})

    def test_what_is_decorated_stays_what_it_was(self):
        @self.gpushim.range("awaited")
        async def coroutine(value):
            await asyncio.sleep(0)
            return value

        self.assertEqual(asyncio.run(coroutine(3)), 3)
        with self.assertRaises(TypeError):
            @self.gpushim.range("asynchronous generator")
            async def _generator():
                yield 1
        with self.assertRaises(TypeError):
            self.gpushim.range(coroutine)

    def test_misuse_is_an_error_with_and_without_the_library(self):
        for samples in (0, -1, 1 << 63):
            with self.assertRaises(ValueError):
                self.gpushim.step(samples)
        one = self.gpushim.range("one")
        with one, self.assertRaises(RuntimeError):
            with one:
                pass


class Reports(Module):
    def told(self):
        done = box.run([cli.GPUSHIM, "report", "--json", self.folder / "traces"], sim=False)
        return json.loads(done.stdout)

    def compare(self, told, made, where="report"):
        """All that the program said is there; the rest is None, or an empty list."""
        if dataclasses.is_dataclass(made):
            values = {field.name.rstrip("_"): getattr(made, field.name) for field in dataclasses.fields(made)}
            self.assertEqual(set(told) - set(values), set(), where)
            for key, value in values.items():
                self.compare(told.get(key), value, f"{where}.{key}")
        elif isinstance(made, list) and made:
            self.assertEqual(len(told), len(made), where)
            for number, value in enumerate(made):
                self.compare(told[number], value, f"{where}[{number}]")
        else:
            self.assertIn((told, made), [(made, made), (None, [])], where)

    def test_a_report_has_all_that_the_program_says(self):
        self.compare(self.told(), self.run_of_two.report)
        self.assertIsInstance(self.run_of_two.report.findings[0].try_, str)

    def test_everything_that_the_schema_names_has_a_field(self):
        schema = report_schema.schema_of("report")
        run = importlib.import_module("gpushim._run")
        whole = self.filled(schema, schema["$defs"])
        self.compare(whole, run._made(importlib.import_module("gpushim.figures").Report, whole))

    def filled(self, schema, shared):
        """A value with all keys that there are."""
        if "$ref" in schema:
            schema = shared[schema["$ref"].rpartition("/")[2]]
        if "properties" in schema:
            return {key: self.filled(value, shared) for key, value in schema["properties"].items()}
        if "items" in schema:
            return [self.filled(schema["items"], shared)]
        return schema.get("const", {"a": 1} if "additionalProperties" in schema else 1)

    def test_what_another_program_may_say(self):
        """A newer one more keys, an older one fewer; one of another schema is refused."""
        program = self.folder / "other" / "gpushim"
        program.parent.mkdir(exist_ok=True)
        answer = {"schema": 2, "gpus": [{"rank": 3, "new": {"a": 1}}], "new": [1], "verdict": None}
        for schema in (2, 3):
            text = json.dumps({**answer, "schema": schema})
            program.write_text(f"#!/bin/sh\necho 'gpushim: left out a.db' >&2\necho '{text}'\nexit 3\n",
                               encoding="utf-8")
            program.chmod(0o755)
            with unittest.mock.patch.dict(os.environ, PATH=f"{program.parent}:{os.environ['PATH']}"):
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    if schema == 2:
                        report = self.gpushim.report()
                        self.assertEqual((report.gpus[0].rank, report.gpus[0].busy_share), (3, None))
                        self.assertIn("No verdict: not recorded", report._repr_html_())
                    else:
                        self.assertRaises(self.gpushim.Failure, self.gpushim.report)
            self.assertEqual([str(one.message) for one in said], ["left out a.db"])

    def test_the_examples_in_it_are_true(self):
        was = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, was)
        tried = 0
        for part in PARTS:
            result = doctest.testmod(importlib.import_module(f"gpushim{part}"))
            self.assertEqual(result.failed, 0, part)
            tried += result.attempted
        self.assertGreaterEqual(tried, 13)
        page = (MAKE.parent / "README.md").read_text(encoding="utf-8")
        block, = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
        known = {"batches": [[1, 2], [3]]}
        exec(re.sub(r"^run\.frame.*\n", "", block, flags=re.M), known)  # pylint: disable=exec-used
        self.assertEqual(repr(known["run"]), "gpushim.open('traces/')")

    def test_it_runs_on_every_python_that_it_promises(self):
        """3.7 is the oldest that pip installs it for."""
        asks = ("import gpushim; run = gpushim.open('traces')\n"
                "print(run.report.run.program, len(run._repr_html_()))")
        expected = f"train.py {len(self.run_of_two._repr_html_())}\n"
        found = list(filter(None, (test_python_lines.interpreter(f"3.{minor}") for minor in range(7, 20))))
        if not found:
            self.skipTest(optional.lacks("pythons"))
        for python in found:
            done = box.run([python, "-B", "-c", asks], self.path(), sim=False, cwd=self.folder)
            self.assertEqual(done.stdout, expected, done.stderr)

    @unittest.skipIf(shutil.which("mypy") is None, optional.lacks("mypy"))
    def test_it_is_typed(self):
        (self.folder / "asks.py").write_text(
            "import gpushim\nreport = gpushim.report()\n"
            "share: float = report.gpus[0].idle_share if report.gpus else 0\n", encoding="utf-8")
        for words, expected in ((["gpushim"], 0), (["asks.py"], 1)):
            done = subprocess.run(["mypy", "--strict", "--cache-dir", self.folder / "cache", *words],
                                  cwd=self.folder, stdout=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, expected, done.stdout)
        self.assertIn('"Optional[float]"', done.stdout.replace("float | None", "Optional[float]"))


class Rows(Module):
    VALUES = (None, 1, -(1 << 63), (1 << 63) - 1, 1.0, 0.1, -1e300, float("inf"), "",
              "it's\0 \u2028\u0085\n'", "x.sql", b"", b"\0\xff", True)

    def test_values_come_back_as_they_are(self):
        row, = self.run_of_two.rows("SELECT " + ", ".join("?" * len(self.VALUES)), *self.VALUES)
        self.assertEqual(row, self.VALUES)
        self.assertEqual([type(value) for value in row[:-1]], [type(value) for value in self.VALUES[:-1]])

    def test_rows_have_names_and_places(self):
        rows = self.run_of_two.rows('SELECT :a AS "a b", 2 AS n, 3 AS n WHERE :a = ?1', a="x")
        self.assertEqual((rows, rows[0]["a b"], rows[0][-1], dict(rows[0])), (
            [("x", 2, 3)], "x", 3, {"a b": "x", "n": 2}))
        self.assertEqual(pickle.loads(pickle.dumps(rows))[0]["a b"], "x")
        with self.assertRaisesRegex(KeyError, "the columns are a b, n, n"):
            rows[0]["c"]
        self.assertEqual(self.run_of_two.rows("SELECT 1 AS a WHERE 0"), [])

    def test_what_cannot_be_answered(self):
        for query, values, why in (("SELECT 1; SELECT 2", (), "answers one query"), ("SELEC", (), "SELEC"),
                                   ("SELECT ?2", (1,), "has no value")):
            with self.subTest(query), self.assertRaisesRegex(self.gpushim.Failure, why):
                self.run_of_two.rows(query, *values)
        self.assertRaises(OverflowError, self.run_of_two.rows, "SELECT ?", 1 << 63)
        self.assertRaises(FileNotFoundError, self.gpushim.open, self.folder / "nowhere")


class Shown(Module):
    def test_words_are_words(self):
        """Whatever a program calls its kernels."""
        page = importlib.import_module("gpushim._page")
        report = dataclasses.replace(self.run_of_two.report, verdict=dataclasses.replace(
            self.run_of_two.report.verdict, text="<script>x</script>"))
        said = page.of(report, lambda query, **named: [])
        self.assertNotIn("<script", said)
        self.assertIn("&lt;script&gt;", said)
        self.assertIn("no calls are kept", said)

    def test_whatever_was_recorded_can_be_drawn(self):
        """Runs drawn from seeds: with and without steps, device times and names."""
        kinds, titles = {"A typical step", "An excerpt of the run, in which no steps were found"}, set()
        for seed in (*range(8), 34):  # the last one has a kernel with signs for a terminal in its name
            with self.subTest(seed=seed), tempfile.TemporaryDirectory() as folder:
                random_traces.make_run(folder, seed)
                said = self.gpushim.open(folder)._repr_html_()
                page = xml.etree.ElementTree.fromstring(said)
                self.assertNotRegex(said, r"\bNone\b|\bnan\b")
                titles |= {title for title in kinds if title in said}
                for bar in page.iter("{http://www.w3.org/2000/svg}rect"):
                    begin, width = float(bar.get("x")), float(bar.get("width"))
                    self.assertTrue(150 <= begin <= begin + width <= 900.6, (begin, width))
        self.assertEqual(titles, kinds)

    def test_ranges_are_nested_below_what_ran(self):
        with tempfile.TemporaryDirectory() as folder:
            run = pathlib.Path(folder, "run.db")
            self.gpushim.report(self.folder / "traces")
            shutil.copy(self.folder / "traces" / "gpushim.run.db", run)
            with contextlib.closing(sqlite3.connect(run)) as base, base:
                base.execute("INSERT INTO kept_text SELECT rank_id, 90000, 'outer <range>' FROM rank")
                base.execute("INSERT INTO kept_text SELECT rank_id, 90001, 'inner' FROM rank")
                for nth, name, later, part in ((80_000, 90_000, 0, 2), (80_001, 90_001, 1, 4)):
                    base.execute(
                        "INSERT INTO kept_call (rank_id, step, nth, kind, enter_ns, dur_ns, tid, flags,"
                        " before, name_id) SELECT k.rank_id, k.step, ?, 'range', s.begin_ns + ?,"
                        " s.dur_ns / ?, 1, 0, 0, ? FROM"
                        " kept_step k JOIN step s USING (rank_id, step)", (nth, later, part, name))
            said = self.gpushim.open(run)._repr_html_()
        self.assertIn("range of the program", said)
        self.assertNotIn("range of the program", self.run_of_two._repr_html_())
        outer, inner = (re.search(rf'y="([\d.]+)" width="([\d.]+)" [^>]*><title>{name}: ', said)
                        for name in ("outer &lt;range&gt;", "inner"))
        self.assertEqual(float(inner[1]) - float(outer[1]), 17)
        self.assertAlmostEqual(float(outer[2]), 2 * float(inner[2]), delta=0.2)

    def test_what_is_not_recorded_is_said(self):
        report = self.run_of_two.report
        unknown = dataclasses.replace(report.gpus[0], productive_share=None, why="no device times")
        doubt = importlib.import_module("gpushim.figures").Doubt(who="rank 0", text="clocks differ")
        said = dataclasses.replace(report, gpus=[unknown], doubts=[doubt])._repr_html_()
        self.assertIn("not recorded: no device times", said)
        self.assertIn("Doubt, rank 0: clocks differ", said)
        self.assertIn("SIMULATED: these are not GPU times", said)

    def test_a_bar_is_as_long_as_its_share(self):
        said = self.run_of_two._repr_html_()
        for gpu in self.run_of_two.report.gpus:
            title = f"rank {gpu.rank}: productive {100 * gpu.productive_share:.1f} %"
            width = re.search(rf'width="([\d.]+)" [^>]*><title>{re.escape(title)}<', said)
            self.assertAlmostEqual(float(width[1]) / 750, gpu.productive_share, places=3)
        typical, = self.run_of_two.rows("SELECT s.number FROM step s JOIN kept_step k USING (rank_id, step) "
                                        "WHERE rank_id = 0 AND k.why = 'typical'")
        self.assertIn(f"A typical step: number {typical['number']}", said)
        kernels = self.run_of_two.rows(
            "SELECT DISTINCT t.text FROM kept_call c JOIN kept_text t ON t.rank_id = c.rank_id AND "
            "t.id = c.what_id WHERE c.kind = 'launch' AND c.before = 0 AND c.ran_ns > 100000 AND "
            "c.step = (SELECT step FROM kept_step WHERE why = 'typical')")
        self.assertGreater(len(kernels), 1)
        for kernel in kernels:
            self.assertIn(f"<title>{html.escape(kernel[0])}: ", said)

    @unittest.skipUnless("GPUSHIM_NOTEBOOK_PYTHON" in os.environ, optional.lacks("notebook"))
    def test_a_notebook_shows_a_run(self):
        done = box.run([os.environ["GPUSHIM_NOTEBOOK_PYTHON"], "-c", NOTEBOOK], self.path(), sim=False,
                       cwd=self.folder / "traces", timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        run, report, frame = json.loads(done.stdout)
        self.assertEqual(run, self.run_of_two._repr_html_().replace(str(self.folder / "traces"), "."))
        self.assertIn("What each GPU did with its time", report)
        self.assertIn("<th>cause</th>", frame)
        self.assertIn("<td>kernel_gap</td>", frame)
        if browser.program() is not None:
            self.check_in_a_browser(run)

    def check_in_a_browser(self, shown):
        """On light and dark ground: nothing is fetched, and words have the colour of what is around them."""
        light, dark = "rgb(255, 255, 255)", "rgb(17, 17, 17)"
        for ground, ink in ((light, dark), (dark, light)):
            path = self.folder / "shown.html"
            path.write_text(f'<meta charset="utf-8"><body style="background: {ground}; color: {ink}">{shown}',
                            encoding="utf-8")
            with browser.Page(path) as page:
                colours = page.ask("[...new Set([...document.querySelectorAll('p, text')].map(one => "
                                   "getComputedStyle(one)[one.tagName == 'P' ? 'color' : 'fill']))]")
                self.assertEqual(colours, [ink])
                self.assertEqual(page.ask("document.querySelectorAll('svg').length"), 2)
                wide = page.ask("[...document.querySelectorAll('text')].filter(one => one.getBBox().x + "
                                "one.getBBox().width > 900).length")
                self.assertEqual(wide, 0)
                self.assertEqual((page.complaints, len(page.requests)), ([], 1))
