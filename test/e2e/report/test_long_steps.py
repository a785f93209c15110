"""Steps of a minute, of which the host launches all in two milliseconds and then waits: longer than windows,
which last ten seconds."""
import json

import box
import cli

TRAIN = ("python3", box.ROOT / "examples" / "train" / "train.py", "--steps", 30, "--layers", 40)


class LongSteps(cli.Case):
    def report(self, ranks=1, slow="0:3000", **knobs):
        done = self.traced(*TRAIN, "--ranks", ranks, GPUSIM_CLOCK="stepped", GPUSIM_DEVICES=ranks,
                           GPUSIM_SLOW=slow, **knobs)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(self.gpushim("report", self.folder, "--json").stdout)

    def test_one_in_windows_that_follow_each_other_is_timed_as_a_whole(self):
        report = self.report()
        gpu, = report["gpus"]
        self.assertGreater(report["steps"]["median_ns"], 60e9)
        self.assertGreaterEqual(gpu["steps"], 27)
        self.assertAlmostEqual(gpu["productive_share"], 1, delta=0.01)
        for finding in report["findings"]:
            self.assertLess(finding["gain_high_ns"] or 0, 0.2 * report["steps"]["median_ns"], finding)

    def test_few_odd_ones_do_not_stand_for_the_others(self):
        """Those after the host has waited for all: it is ahead again, and they end when all is launched."""
        report = self.report(GPUSHIM_BUDGET="0.0005%")
        gpu, = report["gpus"]
        self.assertEqual(gpu["basis"], "spans")
        self.assertIn("steps were timed from beginning to end, and they are no sample of all",
                      " ".join(note["title"] for note in report["findings"]))
        self.assertGreater(gpu["idle_share_high"] - gpu["idle_share_low"], 0.5)
        for finding in report["findings"]:
            self.assertLessEqual(finding["gain_high_ns"] or 0, report["steps"]["mean_ns"], finding)
        self.assertEqual(report["gains_per"], "step")
        self.assertIn("(gain per step, predicted", self.gpushim("report", self.folder).stdout)

    def test_the_rank_that_takes_so_long_is_named(self):
        """No replay is longer than one of them, so what it costs is a bound."""
        report = self.report(ranks=2, slow="1:2500")
        straggler = report["skew"]["straggler"]
        self.assertEqual((straggler["rank"], straggler["least_saved_per_step_ns"]), (1, None))
        self.assertGreater(straggler["time_saved_per_step_ns"], 0.9 * report["steps"]["median_ns"])
        self.assertEqual(report["findings"][0]["id"], "straggler")
