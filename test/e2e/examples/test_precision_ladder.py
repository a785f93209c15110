"""fp32, TF32, AMP, channels last: each rung's first finding is the next one, and kernel times are the
published."""
import json
import sys

import box
import cli

FOLDER = box.ROOT / "examples" / "precision_ladder"
sys.path.insert(0, str(FOLDER))
import ladder  # noqa: E402

# The first finding, and a word of what it says to try.
SAYS = (("no_tensor_cores", "TF32"), ("no_tensor_cores", "AMP"), ("layout_conversions", "channels last"),
        None)


class Ladder(cli.Case):
    def report(self, place):
        done = box.run([box.BUILD / "gpushim", "report", "--json", place], sim=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_each_rung_names_the_next(self):
        runs = [ladder.run_on_the_box(number, self.folder) for number in range(len(SAYS))]
        table = "".join(f"    {line}\n" for line in ladder.lines(runs))
        self.assertIn(f"\n\n{table}\n", (FOLDER / "README.md").read_text(encoding="utf-8"), table)
        reports = [run.report for run in runs]
        for rung, report, says in zip(ladder.RUNGS, reports, SAYS):
            found = [finding for finding in report["findings"] if finding["kind"] == "gain"]
            first = found[0] if found else None
            if says is None:
                self.assertNotIn("no_tensor_cores", [finding["id"] for finding in found], found)
                self.assertNotIn("layout_conversions", [finding["id"] for finding in found], found)
            else:
                self.assertEqual(first["id"], says[0], f"{rung.name}: {found}")
                self.assertIn(says[1], first["try"], rung.name)
            kernels = sum(kernel["sum_ns"] for kernel in report["kernels"]) / report["steps"]["count"] / 1e6
            self.assertAlmostEqual(kernels / rung.published_ms, 1, delta=0.07, msg=rung.name)

    def test_each_gain_holds_what_the_next_rung_gained(self):
        reports = [self.report(place) for place in ladder.record_all(self.folder)]
        for rung, report, after in zip(ladder.RUNGS, reports, reports[1:]):
            gained_ns = report["steps"]["median_ns"] - after["steps"]["median_ns"]
            first = next(finding for finding in report["findings"] if finding["kind"] == "gain")
            self.assertLessEqual(first["gain_low_ns"], 1.1 * gained_ns, rung.name)
            self.assertGreaterEqual(first["gain_high_ns"], 0.9 * gained_ns, rung.name)
