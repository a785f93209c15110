"""A job that becomes slower while it runs: since which step, by how much, and what did."""
import json
import sys

import box
import preload

LOOP = box.ROOT / "examples" / "cases" / "loop.py"
STEPS, AT = 300, 180
CASE = """
from gpu import MS, block, train_step

def step(job):
    late = job.number >= {at}
    rare = {rare_ms} * MS if late and job.number % 12 == 0 else 0
    train_step(job.gpu, before=lambda: block(({late_ms} * MS if late else {early_ms} * MS) + rare))
"""
# Nothing waits for the GPU but a checkpoint, so the first stretch is not timed from its begin.
AHEAD = """
from gpu import MS, block

def step(job):
    job.gpu.copy_in()
    job.gpu.layers(20, 300)
    if job.number % 50 == 49:
        job.gpu.wait()
        block(1000 * MS)
"""


class Changes(preload.PreloadCase):
    def report(self, early_ms, late_ms, *options, rare_ms=0):
        text = CASE.format(at=AT, early_ms=early_ms, late_ms=late_ms, rare_ms=rare_ms)
        return self.reported(text, *options)

    def reported(self, text, *options):
        case = self.folder / "case"
        case.mkdir()
        (case / "case.py").write_text(text, encoding="utf-8")
        self.traced([sys.executable, "-B", LOOP, case, STEPS], GPUSIM_CLOCK="stepped", GPUSHIM_BUDGET="100%")
        done = box.run([preload.ANALYZER, "report", self.folder, *options], sim=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_since_when_and_by_what(self):
        text = self.report(0.5, 1.0)
        line = next(line for line in text.splitlines() if line.startswith("CHANGED"))
        self.assertRegex(line, r"slower since step 1[78]\d: ")
        change, = json.loads(box.run([preload.ANALYZER, "report", self.folder, "--json"],
                                     sim=False).stdout)["changes"]
        self.assertLessEqual(abs(change["step"] - AT), 2)
        page = self.folder / "run.html"
        box.run([preload.ANALYZER, "report", self.folder, "--html", page], sim=False)
        self.assertIn(f"Slower since step {change['step']}: ", page.read_text(encoding="utf-8"))
        self.assertAlmostEqual(change["after_ns"] - change["before_ns"], 500_000, delta=20_000)
        first = change["parts"][0]
        self.assertEqual(first["name"], "idle: input")
        self.assertAlmostEqual(first["after_ns"] - first["before_ns"], 500_000, delta=50_000)

    def test_a_few_long_steps_are_no_part_of_the_change(self):
        change, = json.loads(self.report(0.5, 1.0, "--json", rare_ms=30))["changes"]
        by_ns = {part["name"]: part["after_ns"] - part["before_ns"] for part in change["parts"]}
        self.assertAlmostEqual(by_ns["idle: input"], change["after_ns"] - change["before_ns"], delta=50_000)

    def test_it_may_become_quicker(self):
        change, = json.loads(self.report(1.0, 0.5, "--json"))["changes"]
        self.assertLess(change["after_ns"], change["before_ns"])

    def test_a_steady_job_has_none(self):
        self.assertEqual(json.loads(self.report(0.5, 0.5, "--json"))["changes"], [])

    def test_our_events_are_no_change(self):
        self.assertEqual(json.loads(self.reported(AHEAD, "--json"))["changes"], [])
