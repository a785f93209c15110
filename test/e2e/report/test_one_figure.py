"""What a report says in two places is one figure, or says what it is of (examples/train)."""
import pathlib
import statistics
import tempfile
import unittest

import preload
import trained


class OneFigureEach(unittest.TestCase):
    """Of what is said in two places both say the same, or what each is of."""

    def recorded(self, *options, steps=60, **knobs):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        run = pathlib.Path(folder.name, "run")
        trained.train(run, 1, *options, steps=steps, knobs=knobs)
        return run, *trained.report("--all", run)

    def test_a_latency_counts_from_the_call_wherever_it_is_said(self):
        """Shorter than the call, calibrated and not; measured though the first operations have no times."""
        for budget in ("100%", "1%"):
            _, text, said = self.recorded("--small-kernels", "--sync-every-step", GPUSHIM_BUDGET=budget,
                                          GPUSIM_LATENCY_NS="2000")
            self.assertAlmostEqual(said["trust"]["latency_ns"], 2000, delta=20, msg=text)
            self.assertRegex(text, r"launch latency 2\.0\d us(, not calibrated)?\n")
            self.assertRegex(text, r"2\.0\d us to an empty GPU .* kernels under 4\.0\d us\n")

    def check_idle_beside_busy(self, text, said):
        gpu = said["gpus"][0]
        self.assertTrue(gpu["sampled"], text)
        for low, high in (("low", "high"), ("high", "low")):
            self.assertAlmostEqual(gpu[f"idle_share_likely_{low}"], 1 - gpu[f"run_busy_share_likely_{high}"],
                                   delta=0.03, msg=text)
        self.assertLessEqual(gpu["productive_share_likely_high"], gpu["busy_share_likely_high"] + 1e-9)

    def test_one_window_says_as_little_of_other_steps_as_of_the_run(self):
        """The second one of a run would open 1.5 s after the first."""
        _, text, said = self.recorded("--slow-input", "12", "--loss-every", "1", steps=80,
                                      GPUSHIM_BUDGET="0.1%")
        self.check_idle_beside_busy(text, said)
        self.assertGreater(said["gpus"][0]["idle_share_likely_high"]
                           - said["gpus"][0]["idle_share_likely_low"], 0.1, text)

    def test_a_whole_step_in_many_windows_is_as_sure_as_the_run(self):
        _, text, said = self.recorded("--slow-input", "3000", "--loss-every", "1", GPUSHIM_BUDGET="0.003%",
                                      GPUSIM_JITTER="0.3")
        self.assertIn(said["gpus"][0]["steps"], range(1, 5), text)
        self.check_idle_beside_busy(text, said)

    def test_asked_for_some_steps_each_section_is_of_them_or_of_the_whole_run(self):
        run, _, _ = self.recorded("--loss-every", "20", steps=60)
        model = ("--all", "--flops-per-sample", "2e9", "--samples-per-step", "64")
        _, whole = trained.report(*model, run)
        text, said = trained.report(*model, "--from", "21", "--to", "38", run)
        heads = [line for line in text.split("\nSTEPS ")[1].splitlines()[1:] if line[:1].isupper()]
        of_steps = {"FLOPS", "PHASES", "GPU", "SHARES", "IDLE"}
        self.assertLess(of_steps, {head.split()[0] for head in heads})
        for head in heads:
            if head.split()[0] not in of_steps | {"STEPS"}:
                self.assertRegex(head + text.split(head)[1].split("\n")[1], r"whole run\)?", text)
        self.assertEqual(said["asked_steps"], {"from": 21, "to": 38,
                                               "members": ["verdict", "steps", "flops", "phases", "gpus",
                                                           "cost"]})
        for name in set(said["asked_steps"]["members"]) - {"flops"}:  # the median step is one and the same
            self.assertNotEqual(said[name], whole[name], name)
        for name in ("launch", "copies", "allreduce_check", "skew", "findings", "trust", "kernels"):
            self.assertEqual(said[name], whole[name], name)
        self.assertNotIn("asked_steps", whole)

    def test_iterations_are_the_steps_from_and_to(self):
        """With the mean of these steps, which other tools print of a range."""
        run, _, _ = self.recorded("--loss-every", "20", steps=60)
        text, asked = trained.report("--iterations", "21:38", run)
        self.assertEqual(asked, trained.report("--from", "21", "--to", "38", run)[1])
        self.assertEqual([asked["steps"][key] for key in ("first", "last", "count")], [21, 38, 18])
        lengths = preload.query(run / "gpushim.run.db", "SELECT dur_ns FROM v_counted_step"
                                                         " WHERE number BETWEEN 21 AND 38")
        self.assertAlmostEqual(asked["steps"]["mean_ns"], statistics.mean(ns for ns, in lengths), delta=0.5)
        self.assertRegex(text, r"STEPS .* median, .* p95, .* mean\n")
        for words, first, last in (("21:", 21, None), (":38", None, 38)):
            _, figures = trained.report("--iterations", words, run)
            self.assertEqual([figures["asked_steps"][key] for key in ("from", "to")], [first, last])
        page = run / "page.html"
        trained.report("--html", page, "--from", "21", "--to", "38", run)
        self.assertIn("Steps 21 to 38: the verdict, the step, its phases, GPUs, idle time and what is served "
                      "are of these", page.read_text(encoding="utf-8"))
