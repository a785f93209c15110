"""`gpushim compare`: the same, slower or not to be told, with the cause, on runs of the
box in stepped time."""
import contextlib
import json
import sqlite3
import xml.etree.ElementTree

import cli
import in_memory
import nightly

SLOWER = {"GPUSIM_SLOW": "0:1.04"}


class Compare(cli.Case):
    @classmethod
    def setUpClass(cls):
        cls.runs = in_memory.folder_of(cls)
        nightly.record(cls.runs / "base", 1, GPUSHIM_TAG="commit=a1")
        nightly.record(cls.runs / "same", 2, GPUSHIM_TAG="commit=a2")
        nightly.record(cls.runs / "slow", 3, **SLOWER)

    def compare(self, base, new, *words, expect=0):
        return self.gpushim("compare", self.runs / base, self.runs / new, *words, expect=expect)

    def test_the_same_is_the_same(self):
        said = json.loads(self.compare("base", "same", "--json").stdout)
        self.assertEqual((said["verdict"], said["cause"]), ("same", None))
        self.assertEqual([(one["what"], one["before"], one["after"]) for one in said["changes"]],
                         [("tag commit", "a1", "a2")])
        self.assertEqual(list(cli.without_reason(said)), [])

    def test_kernels_that_are_slower_are_the_cause_and_all_parts_add_up(self):
        said = json.loads(self.compare("base", "slow", "--json", expect=1).stdout)
        self.assertEqual((said["verdict"], said["cause"]), ("slower", "compute"))
        self.assertEqual(sum(part["shift_ns"] for part in said["parts"]), said["step"]["shift_ns"])
        compute, = (part["shift_ns"] for part in said["parts"] if part["part"] == "compute")
        self.assertAlmostEqual(compute / 1e6, 0.04, delta=0.012)
        self.assertGreater(said["step"]["shift_low_ns"], 0)
        self.assertEqual(len(said["kernels"]), 10)
        back = json.loads(self.compare("slow", "base", "--json").stdout)
        self.assertEqual((back["verdict"], back["cause"]), ("faster", "compute"))

    def test_it_is_told_in_the_order_of_what_matters(self):
        lines = self.compare("base", "slow", expect=1).stdout.splitlines()
        words = [line.split()[0] for line in lines if line[:1].isupper()]
        self.assertEqual([word for word in words if word in ("CHANGED", "SLOWER", "RATE", "WHY", "USE")],
                         ["CHANGED", "SLOWER", "RATE", "WHY", "USE"])
        self.assertIn("because of compute", " ".join(lines))
        self.assertIn("**SLOWER**", self.compare("base", "slow", "--markdown", expect=1).stdout)

    def test_a_build_server_is_told(self):
        file = self.folder / "junit.xml"
        for new, code, child in (("slow", 1, "failure"), ("same", 0, None)):
            self.compare("base", new, "--junit", file, expect=code)
            suite = xml.etree.ElementTree.parse(file).getroot()
            case, = suite
            self.assertEqual(suite.get("failures"), str(code))
            self.assertEqual([one.tag for one in case if one.tag != "system-out"], [child] if child else [])

    def test_the_threshold_decides_what_is_worth_saying(self):
        self.compare("base", "slow", "--threshold", "8%")
        for wrong in ("3", "x%", "-3%", "0%", "101%", "3%%"):
            said = self.compare("base", "slow", "--threshold", wrong, expect=2)
            self.assertIn("write it as 3%", said.stderr)
        self.gpushim("compare", self.runs / "base", expect=2)
        self.compare("base", "nothing", expect=2)

    def test_what_cannot_be_compared_is_named(self):
        nightly.record(self.folder / "other", 4, GPUSIM_NAME="H200")
        said = self.gpushim("compare", self.runs / "base", self.folder / "other", expect=3)
        self.assertRegex(said.stdout.splitlines()[0], r"^CHANGED +GPU Simulated H200 \(was Simulated GPU\)$")
        self.assertIn("not comparable", said.stderr)
        nightly.record(self.folder / "half", 4, WORLD_SIZE=2, RANK=0)
        said = self.gpushim("compare", self.runs / "base", self.folder / "half", expect=3)
        self.assertIn("2 ranks expected, 1 seen", said.stderr)
        nightly.record(self.folder / "short", 4, steps=30)
        self.assertIn("too few steps", self.gpushim("compare", self.runs / "base", self.folder / "short",
                                                    expect=3).stderr)

    def test_another_driver_is_named_and_forbids_nothing(self):
        nightly.record(self.folder / "newer", 4, GPUSIM_VERSION=13010)
        said = self.gpushim("compare", self.runs / "base", self.folder / "newer")
        self.assertRegex(said.stdout.splitlines()[0], r"^CHANGED +driver CUDA 13\.1 \(was CUDA 13\.0\)$")

    def test_energy_and_utilisation_stand_side_by_side(self):
        """Of four seconds, in which NVML has samples; MFU as a GPU with a known peak would have it."""
        joules = {}
        for name, watts, mfu in (("before", 600, 0.3), ("after", 400, 0.4)):
            nightly.record(self.folder / name, 1, steps=50, kernels=1, kernel_us=100_000,
                           GPUSIM_POWER_W=watts)
            run = self.folder / name / "gpushim.run.db"
            self.gpushim("analyze", self.folder / name, "-o", run)
            with contextlib.closing(sqlite3.connect(run)) as base, base:
                self.assertEqual(base.execute("UPDATE metric SET value = ? WHERE name = 'mfu'",
                                              (mfu,)).rowcount, 1)
                joules[name], = base.execute("SELECT value FROM metric"
                                             " WHERE name = 'joules_per_step'").fetchone()
        self.assertAlmostEqual(joules["before"] / joules["after"], 1.5, delta=0.05)
        pair = [self.folder / name / "gpushim.run.db" for name in ("before", "after")]
        self.assertIn(f"MFU 40.0 %, was 30.0 %; {joules['after']:.3g} J a step, was"
                      f" {joules['before']:.3g} J a step", self.gpushim("compare", *pair).stdout)
        said = json.loads(self.gpushim("compare", *pair, "--json").stdout)
        for side, name, mfu in (("base", "before", 0.3), ("new", "after", 0.4)):
            self.assertEqual(said[side]["mfu"], mfu)
            self.assertAlmostEqual(said[side]["joules_per_step"] / joules[name], 1, places=9)
        self.assertNotIn("MFU", self.compare("base", "same").stdout)
        for path, mfu in zip(pair, (0.2, 0.25)):
            with contextlib.closing(sqlite3.connect(path)) as base, base:
                base.execute("UPDATE metric SET value = NULL WHERE name = 'mfu'")
                base.execute("UPDATE metric SET value = ? WHERE name = 'product_mfu'", (mfu,))
        self.assertIn("MFU of recorded products 25.0 %, was 20.0 %; ", self.gpushim("compare", *pair).stdout)
        self.check_history(pair, joules)

    def check_history(self, pair, joules):
        """Nights keep both, and show them as columns of their own."""
        history = self.folder / "history.db"
        for run in pair:
            said = self.gpushim("history", "add", history, run, expect=None).stdout
        self.assertRegex(said, r"samples/s +MFU of products +energy/step +against first")
        self.assertRegex(said, rf" 25\.0 % +{joules['after']:.3g} J ")

    def test_runs_without_steps_say_so(self):
        (self.folder / "linked").mkdir()
        done = self.traced(cli.LINKED, pattern="linked/%p.db")
        self.assertEqual(done.returncode, 0, done.stderr)
        said = self.gpushim("compare", self.runs / "base", self.folder / "linked", expect=3)
        self.assertIn("NEW has no steps", said.stderr)
