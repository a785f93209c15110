"""make bench: its rows measure what they say, and the ratios are of the right order. The budgets themselves
are judged by `make bench` on a machine that does nothing else; here only what a busy one cannot excuse."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import box

RUN = box.ROOT / "test" / "bench" / "run"
MARGIN = 3  # times the budget


class Bench(unittest.TestCase):
    def figures(self, row, **variables):
        with tempfile.TemporaryDirectory(prefix="gpushim-bench-") as folder:
            env = {**os.environ, "BENCH_QUICK": "1", "BENCH_JSON": f"{folder}/found.json", **variables}
            done = subprocess.run([sys.executable, RUN, row], env=env, text=True, check=False,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual(done.stderr, "")
            self.assertIn(done.returncode, (0, 1), done.stdout)
            with open(f"{folder}/found.json", encoding="utf-8") as file:
                found = json.load(file)
        if found["not_tried"]:
            self.skipTest(str(found["not_tried"]))
        return {figure["name"]: figure for figure in found["figures"]}, done

    def check_ratio(self, row, name):
        figure = self.figures(row)[0][name]
        self.assertGreater(figure["value"], 0)
        self.assertLess(figure["value"], MARGIN * figure["at_most"], figure["why"])

    def test_a_hot_launch(self):
        self.check_ratio("launch_hot", "hot launch / 2 stamps")

    def test_a_cold_launch(self):
        self.check_ratio("launch_cold", "cold launch / 2 stamps")

    def test_a_dark_launch(self):
        self.check_ratio("launch_dark", "dark launch / 2 stamps")

    def test_against_lttng(self):
        self.check_ratio("lttng", "hot launch / LTTng pair")

    def test_start_up(self):
        self.check_ratio("start", "start-up / idle preload")

    def test_instructions(self):
        figure = self.figures("instructions")[0]["instructions added per launch"]
        self.assertGreater(figure["value"], 20)
        self.assertLess(figure["value"], 500)

    def test_rows_are_small_and_the_writer_keeps_none_back(self):
        figures = self.figures("writer")[0]
        self.assertLess(figures["bytes per launch row"]["value"], figures["bytes per launch row"]["at_most"])

    def test_a_budget_that_is_exceeded_is_said(self):
        figures, done = self.figures("launch_dark", BENCH_BUDGET_SHARE="0.001")
        self.assertFalse(figures["dark launch / 2 stamps"]["holds"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("OVER", done.stdout)


if __name__ == "__main__":
    unittest.main()
