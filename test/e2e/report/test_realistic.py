"""Data-parallel training whose collectives run beside compute (examples/train): what is said of a rank that
is slow is what the same job takes less without it, and nothing is said that one rank alone cannot know."""
import pathlib
import tempfile
import unittest

import trained

WITHIN = 0.05  # of the difference of two runs


class Straggler(unittest.TestCase):
    def check_cost(self, ranks, slow, factor, *options):
        with tempfile.TemporaryDirectory() as folder:
            slowed, alike = (pathlib.Path(folder, name) for name in ("slowed", "alike"))
            trained.train(slowed, ranks, *options, knobs={"GPUSIM_SLOW": f"{slow}:{factor}"})
            trained.train(alike, ranks, *options)
            cost_ns = trained.true_step_ns(slowed) - trained.true_step_ns(alike)
            text, said = trained.report(slowed)
        straggler = said["skew"]["straggler"]
        self.assertEqual((straggler["rank"], straggler["cause"]), (slow, "compute"), text)
        self.assertAlmostEqual(straggler["time_saved_per_step_ns"] / cost_ns, 1, delta=WITHIN, msg=text)

    def test_what_is_computed_beside_collectives_is_counted_once(self):
        self.check_cost(4, 2, 1.4)

    def test_many_small_collectives_in_flight(self):
        self.check_cost(3, 0, 1.5, "--bucket-mb", "0.5")

    def test_without_overlap(self):
        self.check_cost(2, 1, 1.2, "--no-overlap")


if __name__ == "__main__":
    unittest.main()
