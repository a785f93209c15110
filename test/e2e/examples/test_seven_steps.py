"""The published series on the box: the first finding of each run names what the next one changes."""
import json
import py_compile
import sys

import box
import cli

FOLDER = box.ROOT / "examples" / "seven_steps"
sys.path.insert(0, str(FOLDER))
import series  # noqa: E402

# The first finding of each variant: what the next one changes, but for 3_large_batch, where products in 16
# bits gain ten times as much. With half the batch a larger one gains more than pinned memory. None: nothing
# is worth it.
SAYS = (("input_bound",), ("pageable_copies", "larger_batch"), ("larger_batch",), ("no_tensor_cores",),
        ("no_tensor_cores",), ("no_tensor_cores",), ("small_kernels", "launch_bound"), (None,))
WITHIN = 0.10  # of the published rates


def ids(report, kind="gain"):
    return [finding["id"] for finding in report["findings"] if finding["kind"] == kind]


class Series(cli.Case):
    def check_the_readme(self, runs):
        table = "".join(f"    {line}\n" for line in series.lines(runs))
        self.assertIn(f"\n\n{table}\n", (FOLDER / "README.md").read_text(encoding="utf-8"), table)

    def reports(self, **options):
        return [self.report(place) for place in series.record_all(self.folder, **options)]

    def report(self, place):
        done = box.run([box.BUILD / "gpushim", "report", "--json", place], sim=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def check_findings(self, reports):
        said = [ids(report) for report in reports]
        for number, (allowed, found) in enumerate(zip(SAYS, said)):
            self.assertIn(found[0] if found else None, allowed, f"variant {number}: {said}")
        for number, report in enumerate(reports[3:], start=3):
            zeroed = ["memset"] if number < 5 else []
            self.assertEqual(ids(report, "no_gain"), zeroed, f"variant {number}")

    def test_the_first_finding_names_the_next_change_and_rates_are_near_the_published(self):
        runs = [series.run_on_the_box(variant, self.folder) for variant in range(len(SAYS))]
        self.check_the_readme(runs)
        reports = [run.report for run in runs]
        self.check_findings(reports)
        rates = [report["steps"]["samples_per_s"] for report in reports]
        for number, (rate, variant) in enumerate(zip(rates, series.VARIANTS)):
            self.assertAlmostEqual(rate / variant.samples_per_s, 1, delta=WITHIN,
                                   msg=f"variant {number}: {rates}")
        self.assertAlmostEqual(rates[-1] / rates[0], 8.17, delta=0.5)
        self.assertLess(reports[0]["gpus"][0]["memory_peak_bytes"], 1e9)

    def test_half_the_batch_shuffled(self):
        self.check_findings(self.reports(batch=16, order=(5, 2, 7, 0, 3, 6, 1, 4)))

    def test_twice_the_batch_renamed(self):
        self.check_findings(self.reports(batch=64, names=list("hqzxkbwa")))


class RealScript(cli.Case):
    def test_it_compiles(self):
        compiled = self.folder / "train.pyc"
        py_compile.compile(str(FOLDER / "train.py"), str(compiled), doraise=True)

    def test_each_variant_has_its_own_options(self):
        seen = [vars(series.variant_options(number)) for number in range(len(series.VARIANTS))]
        self.assertEqual(len({json.dumps(options) for options in seen}), len(SAYS))
        self.assertEqual([options["times_batch"] for options in seen], [1, 1, 1, 16, 16, 16, 32, 32])
