"""examples/serve: what its report says of it is what it did, and it does the same without the shim."""
import contextlib
import json
import re
import sqlite3
import sys

import box
import preload

sys.path.insert(0, str(box.ROOT / "scripts"))
from fleet import metrics  # pylint: disable=wrong-import-position

SERVE = box.ROOT / "examples" / "serve" / "serve.py"
STEPPED = {"GPUSIM_CLOCK": "stepped", "GPUSHIM_BUDGET": "100%"}
COUNTS = re.compile(r"(\d+) prefills, (\d+) decodes")


class Serve(preload.PreloadCase):
    def served(self, *options, ranks=1, **knobs):
        """(what it printed, prefills, decodes, the report)."""
        command = ["python3", "-B", SERVE, "--ranks", ranks, "--requests", 20, "--answer", 30, *options]
        knobs = {"GPUSIM_DEVICES": ranks, **STEPPED, **knobs}
        alone = box.run(command, knobs)
        done = self.traced(command, stderr=None, **knobs)
        self.assertEqual(done.stdout, alone.stdout)
        said = COUNTS.search(done.stderr)
        report = box.run([preload.ANALYZER, "report", self.folder, "--json"], sim=False)
        self.assertEqual(report.returncode, 0, report.stderr)
        return int(said[1]), int(said[2]), json.loads(report.stdout)

    def test_its_iterations_are_the_reports(self):
        prefills, decodes, report = self.served()
        serving = report["serving"]
        self.assertEqual((serving["program"], report["steps"]["source"]), ("serving", "detected"))
        found = {kind["kind"]: kind for kind in serving["kinds"]}
        self.assertEqual(set(found), {"prefill", "decode"})
        self.assertEqual(sum(kind["iterations"] for kind in serving["kinds"]) + report["steps"]["left_out"],
                         prefills + decodes)
        self.assertLessEqual(found["prefill"]["iterations"], prefills)
        self.assertLessEqual(found["decode"]["iterations"], decodes)
        self.assertEqual(found["decode"]["without_graph"], 0)
        self.assertGreater(found["decode"]["classes"], 2)  # batches of 1, 2, 4, 8
        # A decode takes what its kernels take, 16 layers of 58 us and 52 us behind them, and the host's part.
        kernels_ns = (16 * 58 + 52) * 1000
        self.assertGreater(found["decode"]["length"]["p50_ns"], kernels_ns)
        self.assertLess(found["decode"]["length"]["p50_ns"], 1.2 * kernels_ns)
        self.assertEqual(report["phases"], [])
        self.assertLessEqual({finding["id"] for finding in report["findings"]},
                             {"between_iterations", "no_requests", "prefill_stalls", "token_read_back"})

    def test_metrics_and_rank_summaries_have_the_tokens(self):
        *_, report = self.served()
        told, kinds = report["serving"]["between_tokens"], report["serving"]["kinds"]
        summary = self.folder / "one.summary"
        done = box.run([preload.ANALYZER, "analyze", "--rank-summary", "-o", summary, self.the_trace()],
                       sim=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        prefill, = (kind["time_share"] for kind in kinds if kind["kind"] == "prefill")
        expect = {**{f"token_gap_{name}": told[name] for name in ("p50_ns", "p95_ns", "p99_ns")},
                  "prefill_share": prefill, "iterations_per_s": report["serving"]["iterations_per_s"]}
        for place, asked in ((self.folder / "gpushim.run.db", None), (summary, metrics.all_metrics())):
            with contextlib.closing(sqlite3.connect(place)) as base:
                for name, text in metrics.view_texts().items() if asked else ():
                    base.execute(f"CREATE TEMP VIEW {name} AS {text}")
                found = {row[0]: row[3] for select in ([metric.rows for metric in asked] if asked else
                                                       ["SELECT * FROM metric"])
                         for row in base.execute(select) if row[1] == "run"}
            for name, value in expect.items():
                self.assertAlmostEqual(found[name] / value, 1, delta=1e-6, msg=name)

    def test_two_servers_are_compared_by_their_tokens(self):
        runs = []
        for name, options in (("graphs", ()), ("eager", ("--eager",))):
            *_, report = self.served(*options, GPUSIM_LAUNCH_NS=12000, GPUSIM_LATENCY_NS=14000)
            runs.append((self.folder / f"{name}.run.db", report["serving"]))
            (self.folder / "gpushim.run.db").rename(runs[-1][0])
            self.the_trace().unlink()
        (before, was), (after, now) = runs
        words = [preload.ANALYZER, "compare", before, after]
        told = json.loads(box.run([*words, "--json"], sim=False).stdout)
        for side, serving in (("base", was), ("new", now)):
            prefill, = (kind for kind in serving["kinds"] if kind["kind"] == "prefill")
            said = told[side]["serving"]
            self.assertEqual([said[f"token_{name}_ns"] for name in ("p50", "p95", "p99")],
                             [serving["between_tokens"][f"{name}_ns"] for name in ("p50", "p95", "p99")])
            self.assertAlmostEqual(said["prefill_share"], prefill["time_share"], delta=1e-6)
        self.assertGreater(told["new"]["serving"]["token_p50_ns"], told["base"]["serving"]["token_p50_ns"])
        self.assertRegex(box.run(words, sim=False).stdout,
                         r"TOKENS +[\d.]+ [mu]s from one to the next \(median\), was [\d.]+ [mu]s: \+\d.*\n"
                         r" +p95 .*; p99 .*\nSERVING +.* iterations/s, was .*; prefills .* of the time")

    def test_without_graphs_all_decodes_are_launched_one_by_one(self):
        _, _, report = self.served("--eager", GPUSIM_LAUNCH_NS=12000, GPUSIM_LATENCY_NS=14000)
        decode, = (kind for kind in report["serving"]["kinds"] if kind["kind"] == "decode")
        self.assertEqual(decode["without_graph"], decode["iterations"])
        self.assertIn("decode_without_graphs", {finding["id"] for finding in report["findings"]})

    def test_ranks_of_one_model_say_the_same(self):
        prefills, decodes, report = self.served(ranks=2)
        counted = sum(kind["iterations"] for kind in report["serving"]["kinds"])
        self.assertEqual(counted + 2 * report["steps"]["left_out"], 2 * (prefills + decodes))
        decode, prefill = (next(kind for kind in report["serving"]["kinds"] if kind["kind"] == name)
                           for name in ("decode", "prefill"))
        self.assertGreater(prefill["exposed_communication_share"], 0.01)
        # What lies in a graph has no times of its own, and that is said.
        self.assertIsNone(decode["exposed_communication_share"])
        self.assertTrue(any("inside graphs" in wrong for wrong in report["verdict"]["evidence"]))

    def test_reductions_of_decodes_without_graphs_are_seen(self):
        _, _, report = self.served("--eager", ranks=2, GPUSIM_NCCL_LATENCY_US=30)
        decode, = (kind for kind in report["serving"]["kinds"] if kind["kind"] == "decode")
        self.assertGreater(decode["exposed_communication_share"], 0.3)
        self.assertIn("small_reductions", {finding["id"] for finding in report["findings"]})

    def test_requests_are_ranges_of_the_program(self):
        prefills, _, report = self.served()
        requests = report["serving"]["requests"]
        self.assertEqual((requests["ended"], requests["open"], prefills), (20, 0, 20))
        latency, queued = requests["latency"], requests["queued"]
        self.assertLessEqual(latency["p50_ns"], latency["p99_ns"])
        self.assertLess(queued["p50_ns"], latency["p50_ns"])
        slowest = requests["slowest"]
        self.assertEqual(len(slowest), 5)
        self.assertEqual(slowest[0]["latency_ns"], latency["p99_ns"])
        for request in slowest:
            self.assertRegex(request["name"], r"^request \d+$")
            parts = request["decodes_ns"] + request["prefills_ns"] + request["idle_ns"]
            self.assertAlmostEqual(parts / request["latency_ns"], 1, delta=0.05)

    def test_want_of_requests_is_measured_where_they_are_marked(self):
        _, _, report = self.served("--rate", 4)
        idle = {cause["why"]: cause["share"] for cause in report["serving"]["idle"]}
        self.assertGreater(idle["no_request"], 0.05)
        text = box.run([preload.ANALYZER, "report", self.folder], sim=False).stdout
        self.assertRegex(text, r"idle: no request \d")
        self.assertNotIn("inferred from how long it slept", text)

    def test_some_iterations_are_told_of_alone(self):
        self.served()
        run, = self.folder.glob("*.run.db")
        command = [preload.ANALYZER, "report", run, "--from", "100", "--to", "149"]
        text = box.run(command, sim=False).stdout
        whole, part = (json.loads(box.run([*words, "--json"], sim=False).stdout)
                       for words in (command[:3], command))
        self.assertEqual(sum(kind["iterations"] for kind in part["serving"]["kinds"]), 50)
        for key in ("kinds", "between_tokens", "idle", "requests"):
            self.assertNotEqual(part["serving"][key], whole["serving"][key], key)
        self.assertLess(part["serving"]["requests"]["ended"], whole["serving"]["requests"]["ended"])
        self.assertRegex(text, r"^VERDICT  [^(]*of each step[^(]*\(steps\s+100\s+to\s+149\)\n")
        self.assertNotRegex(text, r"SERVING [^\n]*whole run")
        self.assertLess({"verdict", "serving"}, set(part["asked_steps"]["members"]))
        self.assertIsNone(part["verdict"]["finding"])

    def test_its_page_has_a_part_of_its_own(self):
        self.served()
        page = self.folder / "run.html"
        done = box.run([preload.ANALYZER, "report", self.folder, "--html", page], sim=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = page.read_text(encoding="utf-8")
        for words in (">Serving<", "From token to token", "Why the GPU was idle", "The slowest requests",
                      "the host between iterations"):
            self.assertIn(words, text)
        as_training = self.folder / "training.html"
        box.run([preload.ANALYZER, "report", *self.traces(), "--training", "--html", as_training], sim=False)
        self.assertNotIn(">Serving<", as_training.read_text(encoding="utf-8"))

    def test_a_request_that_never_ends_is_counted_apart(self):
        self.served()
        run, = self.folder.glob("*.run.db")
        with contextlib.closing(sqlite3.connect(run)) as base, base:
            base.execute("UPDATE request SET end_ns = NULL WHERE request = 3")
        done = box.run([preload.ANALYZER, "report", run, "--json"], sim=False)
        requests = json.loads(done.stdout)["serving"]["requests"]
        self.assertEqual((requests["ended"], requests["open"]), (19, 1))
        self.assertIsNone(requests["queued"]["p50_ns"])
        self.assertIn("not known", requests["queued"]["why"])

    def test_a_person_has_the_last_word(self):
        self.served()
        command = [preload.ANALYZER, "report", *self.traces(), "--json"]
        as_training = json.loads(box.run([*command, "--training"], sim=False).stdout)
        self.assertEqual(as_training["serving"]["program"], "training")
        self.assertEqual(as_training["serving"]["kinds"], [])
        both = box.run([*command, "--training", "--serving"], sim=False)
        self.assertEqual((both.returncode, both.stderr), (2, "gpushim: --serving or --training, not both\n"))
