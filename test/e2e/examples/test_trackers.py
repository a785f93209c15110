"""examples/trackers with the real Weights & Biases, MLflow and Lightning, offline: what they keep is what the
report says."""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

import box
import cli
import optional
import trained

TRACKERS = box.ROOT / "examples" / "trackers"
PYTHON = os.environ.get("GPUSHIM_TRACKERS_PYTHON")  # Weights & Biases and MLflow
LIGHTNING = os.environ.get("GPUSHIM_LIGHTNING_PYTHON")
JOB = pathlib.Path(__file__).parent / "trackers" / "lightning_job.py"
sys.path.insert(0, str(TRACKERS))
import figures  # noqa: E402


class Trackers(cli.Case):
    def setUp(self):
        super().setUp()
        trained.train(self.folder / "run", 2, steps=30)
        self.report = json.loads(self.gpushim("report", self.folder / "run", "--json").stdout)

    def told(self, script, **variables):
        """What the script prints. It works in the case's folder."""
        env = {**os.environ, "PATH": f"{box.BUILD}:{os.environ['PATH']}", **variables}
        done = subprocess.run([PYTHON, "-B", TRACKERS / script, "run"], cwd=self.folder, env=env, timeout=300,
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_figures_are_those_of_the_report_and_what_is_null_is_left_out(self):
        found = figures.figures(self.report)
        self.assertEqual(found["step_ms"], self.report["steps"]["median_ns"] / 1e6)
        shares = [gpu["productive_share"] for gpu in self.report["gpus"]]
        self.assertAlmostEqual(found["productive_share"], sum(shares) / 2)
        self.assertNotIn("mfu", found)
        self.assertEqual([row[0] for row in figures.findings(self.report)],
                         [finding["id"] for finding in self.report["findings"]])

    @unittest.skipUnless(PYTHON, optional.lacks("trackers"))
    def test_weights_and_biases(self):
        text = self.told("to_wandb.py", WANDB_MODE="offline")
        step_ms = float(re.search(r"gpushim/step_ms ([\d.]+)", text)[1])
        self.assertAlmostEqual(step_ms, self.report["steps"]["median_ns"] / 1e6, places=3)
        kept, = self.folder.glob("wandb/offline-run-*/files/media")
        table, = kept.glob("table/gpushim/findings_*.json")
        rows = json.loads(table.read_text(encoding="utf-8"))
        self.assertEqual((rows["columns"], rows["data"]), (figures.COLUMNS, figures.findings(self.report)))
        page, = kept.glob("html/gpushim/report_*.html")
        self.assertIn(self.report["verdict"]["word"], page.read_text(encoding="utf-8"))

    @unittest.skipUnless(PYTHON, optional.lacks("trackers"))
    def test_mlflow(self):
        self.told("to_mlflow.py", MLFLOW_TRACKING_URI=(self.folder / "kept").as_uri(),
                  MLFLOW_ALLOW_FILE_STORE="true")
        run, = (folder.parent for folder in self.folder.glob("kept/*/*/metrics"))
        kept = {file.name: float(file.read_text(encoding="utf-8").split()[1])
                for file in (run / "metrics" / "gpushim").iterdir()}
        self.assertEqual(kept, figures.figures(self.report))
        self.assertEqual((run / "tags" / "gpushim.verdict").read_text(encoding="utf-8"),
                         self.report["verdict"]["text"])
        rows = json.loads((run / "artifacts" / "gpushim" / "findings.json").read_text(encoding="utf-8"))
        self.assertEqual(rows["rows"], figures.findings(self.report))
        self.assertTrue((run / "artifacts" / "gpushim" / "gpushim.html").stat().st_size > 10_000)


@unittest.skipUnless(LIGHTNING, optional.lacks("lightning"))
class Lightning(cli.Case):
    def test_each_batch_is_a_step_with_its_samples(self):
        trace = self.folder / "traces" / "0.db"
        done = box.run([LIGHTNING, "-B", JOB], {"LD_PRELOAD": box.BUILD / "libgpushim.so",
                                                "GPUSHIM_OUT": trace}, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        steps = json.loads(self.gpushim("report", trace, "--json").stdout)["steps"]
        self.assertEqual((steps["source"], steps["count"] + steps["left_out"], steps["last"]),
                         ("gpushim_step", 41, 39))
        self.assertAlmostEqual(steps["samples_per_s"], 8e9 / steps["mean_ns"], delta=1)

    def test_without_the_preload_nothing_happens(self):
        done = box.run([LIGHTNING, "-B", JOB], timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
