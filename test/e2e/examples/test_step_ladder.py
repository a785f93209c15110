"""588, 399, 341 ms a step: each report names the next change, `compare` says what it brought and by what, and
the last one is not done."""
import json
import sys

import box
import cli

FOLDER = box.ROOT / "examples" / "step_ladder"
sys.path.insert(0, str(FOLDER))
import ladder  # noqa: E402
from rungs import CONVOLUTIONS, HOST_US  # noqa: E402

WITHIN = 0.005  # of the published steps
HOST_MS = HOST_US / 1000


class StepLadder(cli.Case):
    def test_the_ladder(self):
        """One method, for each runs in a process of its own, and the runs take long to record."""
        runs = [ladder.run_on_the_box(number, self.folder) for number in range(len(ladder.RUNGS))]
        for check in (self.check_the_readme, self.check_steps_and_shares, self.check_findings):
            with self.subTest(check.__name__):
                check(runs)
        for before, after in zip(runs, runs[1:]):
            with self.subTest(after.name):
                self.check_compare(self.folder, before, after)

    def check_the_readme(self, runs):
        table = "".join(f"    {line}\n" for line in ladder.lines(runs))
        self.assertIn(f"\n\n{table}\n", (FOLDER / "README.md").read_text(encoding="utf-8"), table)

    def check_steps_and_shares(self, runs):
        for rung, run in zip(ladder.RUNGS, runs):
            step_ms = run.report["steps"]["median_ns"] / 1e6
            self.assertAlmostEqual(step_ms / rung.published_ms, 1, delta=WITHIN, msg=rung.name)
            gpu, = run.report["gpus"]  # shares are of the step without our events
            kernels_ms = (rung.convolutions_us + rung.others_us) / 1000
            self.assertAlmostEqual(gpu["compute_share"], kernels_ms / rung.published_ms, delta=0.001,
                                   msg=rung.name)
            self.assertAlmostEqual(gpu["productive_share"], gpu["compute_share"], delta=1e-6, msg=rung.name)
            self.assertAlmostEqual(gpu["idle_share"], HOST_MS / rung.published_ms, delta=0.001)

    def check_findings(self, runs):
        said = [[found for found in run.report["findings"] if found["kind"] == "gain"] for run in runs]
        for rung, after, found in zip(runs, ladder.RUNGS[1:], said):
            self.assertEqual(found[0]["id"], "no_tensor_cores", rung.name)
            self.assertIn(after.named_by.word, found[0]["try"], rung.name)
        last, = said[-1]
        self.assertEqual(last["id"], "step_gap")  # and not: no change is worth it
        for end in ("gain_low_ns", "gain_high_ns"):
            self.assertAlmostEqual(last[end] / 1e6 / HOST_MS, 1, delta=0.05)

    def check_compare(self, folder, before, after):
        places = folder / before.name, folder / after.name
        done = box.run([box.BUILD / "gpushim", "compare", *places, "--json"], sim=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        said = json.loads(done.stdout)
        self.assertEqual((said["verdict"], said["cause"]), ("faster", "compute"))
        gained_ns = before.report["steps"]["median_ns"] - after.report["steps"]["median_ns"]
        self.assertAlmostEqual(said["step"]["shift_ns"] / -gained_ns, 1, delta=0.01)
        kernels, = (part for part in said["parts"] if part["part"] == "compute")
        self.assertAlmostEqual(kernels["shift_ns"] / -gained_ns, 1, delta=0.02)
        for side, run in (("base", before), ("new", after)):
            rung = ladder.RUNGS[int(run.name[0])]
            launches = CONVOLUTIONS + rung.others + 1
            self.assertAlmostEqual(said[side]["launches_per_step"], launches, delta=1e-6)
