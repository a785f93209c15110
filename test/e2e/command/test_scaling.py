"""`gpushim scaling` of a job whose ranks share one loader: that does not scale, and the loss adds up."""
import json
import sys
import unittest

import box
import in_memory

sys.path.insert(0, str(box.ROOT / "examples" / "scaling"))
import record  # noqa: E402

MS = 1_000_000
LOADER_NS = 0.5 * MS


class Scaling(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = in_memory.folder_of(cls)
        for ranks in record.RANKS:
            record.record(ranks, cls.folder / f"{ranks}_gpus")

    def scaling(self, *words):
        # Not in order: the command puts them by number of GPUs.
        runs = [self.folder / f"{ranks}_gpus" for ranks in reversed(record.RANKS)]
        done = box.run([box.BUILD / "gpushim", "scaling", *runs, *words], sim=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_the_shared_loader_is_what_does_not_scale(self):
        runs = json.loads(self.scaling("--json"))["runs"]
        self.assertEqual([run["gpus"] for run in runs], list(record.RANKS))
        base = runs[0]
        self.assertEqual((base["efficiency"], set(base["lost"].values())), (1, {0}))
        for run, before in zip(runs[1:], runs):
            with self.subTest(gpus=run["gpus"]):
                lost = run["lost"]
                self.assertLess(run["efficiency"], before["efficiency"])
                self.assertAlmostEqual(sum(lost.values()), 1 - run["efficiency"], places=9)
                self.assertEqual(max(lost, key=lost.get), "input")
                parts = run["step_parts_ns"]
                self.assertAlmostEqual(sum(parts.values()), run["step_ns"], delta=len(parts))
                # Each further GPU makes every rank wait for one batch more.
                more_ns = (run["gpus"] - 1) * LOADER_NS
                input_ns = parts["input"] - base["step_parts_ns"]["input"]
                self.assertAlmostEqual(input_ns / more_ns, 1, delta=0.05)
                self.assertGreater(parts["transfer"], 0)
        rates = [run["samples_per_s"] / run["gpus"] for run in runs]
        self.assertAlmostEqual(rates[3] / rates[0], runs[3]["efficiency"], delta=0.01)

    def test_the_table_has_a_row_for_each(self):
        lines = self.scaling().splitlines()
        self.assertRegex(lines[0], "^run +GPUs +rate +efficiency +input +host +transfer +wait +pack +work$")
        self.assertEqual([line.split()[0] for line in lines[1:5]], [f"{n}_gpus" for n in record.RANKS])

    def test_one_run_is_no_scaling(self):
        done = box.run([box.BUILD / "gpushim", "scaling", self.folder / "1_gpus"], sim=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("one per number of GPUs", done.stderr)
