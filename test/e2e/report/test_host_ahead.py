"""A host that waits for the GPU in every twentieth step and is ahead of it in the others: how long most
steps took to call is not how long they take."""
import json
import sys

import box
import cli
import in_memory

LOOP = box.ROOT / "examples" / "cases" / "loop.py"
STEPS, EVERY = 900, 20
CASE = """
def step(job):
    job.gpu.copy_in()
    job.gpu.layers(10, 300)
    if job.number % {every} == {every} - 1:
        job.gpu.wait()
"""


class HostAhead(cli.Case):
    @classmethod
    def setUpClass(cls):
        cls.runs = in_memory.folder_of(cls)
        for name, every, slow in (("ahead", EVERY, 1), ("slower", EVERY, 1.1), ("waits", 1, 1)):
            cls.record(cls.runs / name, every, slow)

    @staticmethod
    def record(folder, every, slow, steps=STEPS):
        case = folder / "case"
        case.mkdir(parents=True)
        (case / "case.py").write_text(CASE.format(every=every), encoding="utf-8")
        loop = (sys.executable, "-B", LOOP, case, steps)
        done = box.run([cli.GPUSHIM, "run", "-o", folder / "traces" / "%r.%p.db", "--", *loop],
                       {"GPUSIM_CLOCK": "stepped", "GPUSIM_SLOW": f"0:{slow}", "GPUSHIM_BUDGET": "100%"})
        if done.returncode != 0:
            raise RuntimeError(done.stderr)

    def report(self, name, *options):
        return self.gpushim("report", self.runs / name / "traces", *options).stdout

    def test_a_step_takes_as_long_as_all_of_them_together(self):
        steps = json.loads(self.report("ahead", "--json"))["steps"]
        self.assertTrue(steps["host_ahead"])
        self.assertLess(steps["median_ns"], 0.1 * steps["mean_ns"])
        self.assertAlmostEqual(steps["mean_ns"] / 1e6, 3.05, delta=0.05)
        text = self.report("ahead")
        self.assertRegex(text, r"(?m)^STEP     3\.0\d ms on average ·")
        self.assertIn("the host is ahead of the GPU", " ".join(text.split()))
        page = self.folder / "run.html"
        self.report("ahead", "--html", page)
        self.assertIn("Step, mean", page.read_text(encoding="utf-8"))

    def test_what_runs_behind_the_last_step_is_told(self):
        self.record(self.runs / "behind", 50, 1, 120)  # of the last 20 steps nothing has run when they end
        text = " ".join(self.report("behind").split())
        self.assertRegex(text, r"STEP 2\.\d+ ms on average, or more ·")
        self.assertIn("GPUs worked on behind the last one: kernels of a step take them 3.00 ms", text)
        self.assertRegex(text, r"process \d+ 99\.\d % 0\.0 %")  # no time of a step that none takes
        self.assertNotIn("or more", self.report("ahead"))

    def test_one_that_waits_in_every_step_is_not_ahead(self):
        steps = json.loads(self.report("waits", "--json"))["steps"]
        self.assertFalse(steps["host_ahead"])
        self.assertNotIn("ahead of the GPU", self.report("waits"))

    def test_a_slower_gpu_is_slower_though_most_steps_are_called_as_quickly(self):
        both = (self.runs / name / "traces" for name in ("ahead", "slower"))
        said = json.loads(self.gpushim("compare", *both, "--json", expect=1).stdout)
        self.assertEqual((said["verdict"], said["cause"]), ("slower", "compute"))
        self.assertAlmostEqual(said["step"]["shift_ns"] / 1e6, 0.3, delta=0.06)
