"""Runs with next to nothing in them: the report is short, says what is missing, and makes nothing up."""
import json

import box
import cli

ANSWER = box.TOOLS / "answer"
MOST_LINES = 60
STEPPED = {"GPUSIM_CLOCK": "stepped", "GPUSHIM_BUDGET": "100%"}


class Thin(cli.Case):
    def reported(self, *command, **knobs):
        """The report's text and JSON."""
        done = self.traced("python3", *command, **STEPPED, **knobs)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, cli.WHERE_TRACES_ARE)
        shown = self.gpushim("report", self.folder)
        self.assertEqual(shown.stderr, "")
        self.assertLessEqual(len(shown.stdout.splitlines()), MOST_LINES)
        report = json.loads(self.gpushim("report", self.folder, "--json").stdout)
        promised = {key: value for key, value in report.items() if key not in ("windows", "memory")}
        self.assertEqual(list(cli.without_reason(promised)), [])
        self.assertEqual((report["ledger"]["unknown"], report["ledger"]["dropped"]), (0, {}))
        return shown.stdout, report

    def thin(self, name, **knobs):
        return self.reported(ANSWER / "thin.py", name, **knobs)

    def test_nothing_at_all(self):
        for words in ((), ("--json",), ("--markdown",)):
            done = self.gpushim("report", self.folder, *words, expect=2)
            self.assertEqual(done.stdout, "")
            self.assertRegex(done.stderr, "^gpushim: no trace to read in .*; `gpushim run .* makes one.*\n$")
        (self.folder / "a.db").touch()
        done = self.gpushim("report", self.folder, expect=2)
        self.assertRegex(done.stderr, "^gpushim: no trace to read: .*a.db: empty\n$")

    def test_a_context_and_nothing_in_it(self):
        text, report = self.thin("context")
        self.assertIn("no steps found", text)
        self.assertIn("no stream of it was used", text)
        self.assertEqual((report["kernels"], report["copies"], report["collectives"]), ([], [], []))
        self.assertNotIn("IDLE", text)

    def test_one_kernel(self):
        text, report = self.thin("kernel")
        self.assertIn("no steps found", text)
        self.assertIn("LAUNCH     1 in all", text)
        self.assertEqual([(kernel["name"], kernel["count"]) for kernel in report["kernels"]],
                         [("only__10us", 1)])

    def test_one_step(self):
        """The GPU was busy from begin to end, before anybody could take its time: that is not idle."""
        text, report = self.thin("one_step")
        self.assertIn("what the GPU did in it is not recorded", text)
        self.assertNotIn("IDLE", text)
        gpu, = report["gpus"]
        self.assertIsNone(gpu["idle_share"])
        self.assertEqual(report["steps"]["count"], 1)
        self.assertGreaterEqual(report["steps"]["median_ns"], 8 * 100_000, "its kernels, one after the other")
        self.assertIsNone(report["cost"]["idle_gpu_ns"])

    def test_no_kernels(self):
        text, report = self.thin("copies")
        self.assertRegex(text, "COPY       stream 1  h2d .* at 25.0 GB/s")
        self.assertNotIn("KERNELS", text)
        self.assertNotIn("LAUNCH", text)
        self.assertEqual((report["kernels"], report["launch"]), ([], []))
        gpu, = report["gpus"]
        self.assertGreater(gpu["copy_share"], 0.5)
        self.assertEqual(gpu["compute_share"], 0)
        self.assertNotIn("IDLE       never", text)

    def test_steps_and_nothing_in_them(self):
        text, report = self.thin("marks")
        self.assertIn("STEP ", text)
        self.assertIn("no operation has device times", text)
        gpu, = report["gpus"]
        self.assertIsNone(gpu["productive_share"])

    def test_no_nccl(self):
        text, report = self.reported(ANSWER / "workloads.py", "healthy", 20)
        for word in ("ALLREDUCE", "COLLECTIVES", "SKEW"):
            self.assertNotIn(word, text)
        self.assertEqual(report["collectives"], [])
        for key in ("params_implied", "bytes_per_step", "measured_ns"):
            self.assertIsNone(report["allreduce_check"][key])
        self.assertIn("why", report["skew"])

    def test_one_rank_of_eight(self):
        text, report = self.reported(ANSWER / "ranks.py", 8, 20, "AllReduce", 1_000_000, GPUSIM_DEVICES=8,
                                     GPUSHIM_RANKS=3)
        self.assertIn("1 of 8 ranks", text)
        self.assertIn("SKEW       not known, nor how long collectives waited and took: of 8 ranks 1 was seen",
                      text)
        self.assertEqual((report["ledger"]["ranks_seen"], report["ledger"]["ranks_expected"]), (1, 8))
        self.assertIsNone(report["skew"]["straggler"])
        self.assertIn("1 of 8 ranks", report["skew"]["why"])
        self.assertEqual([kind["complete"] for kind in report["collectives"]], [0])
