"""The series as they run on a real GPU: how a script is recorded, what is said of the runs, and what is wrong
with them. The scripts themselves run where there is a PyTorch."""
import copy
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import box
import cli
import optional

EXAMPLES = box.ROOT / "examples"
sys.path[:0] = [str(EXAMPLES / name) for name in ("cases", "seven_steps", "precision_ladder")]
sys.path += [str(box.ROOT / "test" / "gpu")]
import contradictions  # noqa: E402
import gallery  # noqa: E402
import judging  # noqa: E402
import ladder  # noqa: E402
import next_change  # noqa: E402
import real  # noqa: E402
import runs_table  # noqa: E402
import series  # noqa: E402
import series_rows  # noqa: E402

STAND_IN = box.TOOLS / "stand_in_training.py"
PYTHON = os.environ.get("GPU_CHECK_PYTHON", sys.executable)
SMALL = "--device cpu --side 32 --channels 32 --batch 2 --steps 2".split()


def finding(name, tries="", kind="gain"):
    return {"id": name, "kind": kind, "try": tries}


def run(rate, *findings, name="run"):
    gpu = {"busy_share": 0.5, "busy_share_low": 0.4, "busy_share_high": 0.6,
           "busy_share_likely_low": 0.45, "busy_share_likely_high": 0.55, "idle_ns": 100,
           "idle_by_cause_ns": {"sync": 60, "tail": 40}, "compute_share": 0.5, "window_ns": 8_000_000,
           "steps": 4}
    return runs_table.Run(name, {"samples_per_s": rate, "steps": 10, "batch": 32, "took_s": 2.0},
                          {"findings": list(findings), "gpus": [gpu]})


class NextChange(unittest.TestCase):
    change = next_change.Change(("no_tensor_cores",), "AMP")

    def answer(self, gained, *findings, change=change):
        return next_change.answer(run(1, *findings).report, change, gained)

    def test_what_is_named_and_what_it_brought(self):
        amp, other = finding("no_tensor_cores", "TF32, AMP"), finding("input_bound", "workers")
        for found, gained, is_first, text in (
                ([amp, other], 0.5, True, "named, brought +50.0 %"),
                ([amp], 0.01, True, "named, brought +1.0 %"),
                ([other, amp], 0.5, False, "named as number 2, brought +50.0 %"),
                ([other], 0.5, False, "not named, brought +50.0 %"),
                ([], -0.1, False, "not named, brought -10.0 %: rightly"),
                ([finding("no_tensor_cores", "TF32")], 0.5, False, "not named, brought +50.0 %"),
                ([finding("small_kernels", "AMP")], 0.5, False, "not named, brought +50.0 %"),
                ([finding("no_tensor_cores", "AMP", "note")], 0.5, False, "not named, brought +50.0 %")):
            with self.subTest(text):
                answer = self.answer(gained, *found)
                self.assertEqual((answer.is_first, answer.text), (is_first, text))
                self.assertEqual(answer.is_worth, gained == 0.5)

    def test_what_is_expected_to_gain_nothing(self):
        change, said = next_change.Change(no_gain="memset"), finding("memset", kind="no_gain")
        self.assertEqual(self.answer(0.01, said, change=change).text,
                         "no gain expected (memset), brought +1.0 %: rightly")
        self.assertEqual(self.answer(0.2, said, change=change).text,
                         "no gain expected (memset), brought +20.0 %")
        self.assertEqual(self.answer(0.01, change=change).text, "not named, brought +1.0 %: rightly")

    def test_the_summary_counts_by_what_was_brought(self):
        amp = finding("no_tensor_cores", "AMP")
        answers = [self.answer(0.5, amp), self.answer(0.5), self.answer(0.01, amp), self.answer(0.01)]
        self.assertEqual(next_change.summary(answers), "2 of 4 changes brought 3 % or more; the first "
                         "finding of the run before named 1 of them, and 1 of the others")


class Tables(unittest.TestCase):
    def test_the_first_of_a_series(self):
        runs = [run(300, finding("input_bound"), name="0_baseline"), run(900, name="1_workers"),
                run(890, name="2_pinned")]
        lines = list(series.lines(runs))
        self.assertEqual(lines[1].split(), "0_baseline 300 400 50.0 % 31.65 % input_bound workers: named, "
                         "brought +200.0 %".split())
        self.assertEqual(lines[2].split(),
                         "1_workers 900 865 50.0 % 72.81 % - pinned: not named, brought -1.1 %: "
                         "rightly".split())
        self.assertEqual(lines[3].split(), "2_pinned 890 1,200 50.0 % 92.37 % - -".split())
        self.assertEqual(lines[4:], ["1 of 2 changes brought 3 % or more; the first finding of the run "
                                     "before named 1 of them, and 0 of the others"])

    def test_kernels_of_a_rung_are_those_of_a_step(self):
        runs = [run(10, name="0_fp32"), run(20, name="1_tf32")]
        lines = list(ladder.lines(runs))
        self.assertEqual(lines[1].split(),
                         "0_fp32 1.00 ms 188.39 ms 10 - tf32: not named, brought +100.0 %".split())
        self.assertIn("named 0 of them", lines[-1])

    def test_runs_of_which_nothing_was_recorded(self):
        nothing = [run(rate, name=name)._replace(report=None)
                   for rate, name in ((300, "0_baseline"), (900, "1_workers"))]
        lines = list(series.lines(nothing))
        self.assertEqual(lines[1].split(), "0_baseline 300 400 - 31.65 % - -".split())
        self.assertEqual(lines[-1], "nothing called a driver, so nothing was recorded")
        self.assertEqual(list(ladder.lines(nothing))[1].split()[1], "-")


class Contradictions(unittest.TestCase):
    steps = {"steps": 10, "took_s": 2.01, "batch": 32}

    def found(self, steps=None, told=None, **gpu):
        one = copy.deepcopy(run(160))
        one.report["gpus"][0].update(gpu)
        return list(contradictions.contradictions(one.report, {**self.steps, **(steps or {})},
                                                  {**one.told, **(told or {})}))

    def test_none_where_all_agrees(self):
        self.assertEqual(self.found(), [])
        self.assertEqual(self.found(busy_share=None), [])

    def test_each_is_found(self):
        for words, said in (({"steps": {"steps": 7, "took_s": 1.4}}, "7 steps, the script took 10"),
                            ({"steps": {"batch": None}}, "None samples a step, the script has 32"),
                            ({"told": {"took_s": 2.2}},
                             "4.975 steps a second, by the script's own clock 4.545"),
                            ({"busy_share": 0.7},
                             "busy for 0.7, likely between 0.45 and 0.55, certainly between 0.4 and 0.6"),
                            ({"busy_share_high": 1.2},
                             "busy for 0.5, likely between 0.45 and 0.55, certainly between 0.4 and 1.2"),
                            ({"busy_share_likely_low": 0.3},
                             "busy for 0.5, likely between 0.3 and 0.55, certainly between 0.4 and 0.6"),
                            ({"idle_ns": 130}, "idle for 130 ns, its causes add up to 100")):
            with self.subTest(said):
                self.assertEqual(self.found(**words), [said])


def on_the_box(command, variables):
    return box.run(command, {**variables, "GPUSIM_CLOCK": "stepped"})


class Recording(cli.Case):
    def test_a_script_and_its_loader(self):
        place = self.folder / "0_baseline"
        recorded = real.record(STAND_IN, ["--steps", 12], place, "variant=baseline", run=on_the_box)
        self.assertEqual([trace.name for trace in place.glob("[0-9]*.db")], [f"{recorded.told['pid']}.db"])
        self.assertEqual(len(list(self.folder.glob("0_baseline.*.db"))), 1)  # the loader's
        self.assertEqual(recorded.report["run"]["tag"], "variant=baseline")
        steps = contradictions.steps_of(place)
        self.assertEqual((steps["steps"], steps["batch"]), (12, 32))
        self.assertEqual(list(contradictions.contradictions(recorded.report, steps, recorded.told)), [])

    def test_what_a_report_says_besides_is_no_failure_of_a_real_run(self):
        warns = self.folder / "build" / "gpushim"
        warns.parent.mkdir()
        warns.write_text(f"#!/bin/sh\necho careful >&2\nexec {gallery.BUILD}/gpushim \"$@\"\n", "utf-8")
        warns.chmod(0o755)
        with mock.patch.object(gallery, "BUILD", warns.parent):
            recorded = real.record(STAND_IN, ["--steps", 12], self.folder / "x", "by=hand", run=on_the_box,
                                   library=cli.LIBRARY)
            self.assertEqual(recorded.report["run"]["tag"], "by=hand")
            with self.assertRaisesRegex(RuntimeError, "careful"):
                gallery.report_of(self.folder / "x")

    def test_a_script_that_fails(self):
        with self.assertRaisesRegex(real.Failed, "tag: exit code 1: out of memory"):
            real.record(STAND_IN, ["--fails"], self.folder / "x", "tag", run=on_the_box)

    def test_what_calls_no_driver_has_no_report(self):
        script = self.folder / "none.py"
        script.write_text("print('{\"pid\": 1}')\n", encoding="utf-8")
        self.assertIsNone(real.record(script, [], self.folder / "x", "tag", run=on_the_box).report)

    def test_the_command_line(self):
        for words in ((), ("--help",), ("folder", "32", "64"), ("folder", "many")):
            for script in (series, ladder):
                done = box.run([sys.executable, "-B", script.__file__, *words], sim=False)
                self.assertEqual((done.returncode, done.stderr.strip()), (1, script.__doc__.strip()), words)

    def test_a_script_that_cannot_run_is_named_in_a_line(self):
        done = box.run([sys.executable, "-B", series.__file__, self.folder / "x", "--real", "--side", "none"],
                       sim=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^variant=baseline: exit code [12]: ")


class Machine:
    """One with a GPU, as far as the rows can tell."""

    simulated, library, python = False, cli.LIBRARY, sys.executable

    def __init__(self, runs=9, there=(0, "yes\n", "")):
        self.runs, self.there = runs, there
        self.work = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with

    def folder(self):
        return self.work.name

    def run(self, command, variables):
        """A command that it does not know is not answered, but run."""
        files = [word for word in map(str, command) if word.endswith(".py")]
        assert all(map(os.path.exists, files)), f"not there: {files}"
        if command[-1] == series_rows.IS_THERE:
            return subprocess.CompletedProcess(command, *self.there)
        self.runs -= 1
        if self.runs < 0:
            raise judging.OutOfTime("no time left")
        return on_the_box(command, variables)


class StandIns:
    """A series of scripts that are no PyTorch."""

    HEADER, cells = series.HEADER, staticmethod(series.cells)

    def __init__(self, *options):
        self.options = options

    def real_run(self, number, folder, options, **how):
        place = pathlib.Path(folder) / f"{number}_run"
        return real.record(STAND_IN, [*options, *self.options], place, "x", **how)


class Rows(unittest.TestCase):
    changes = series.VARIANTS[:3]

    def check(self, machine, *options):
        return series_rows.check_series(machine, StandIns(*options), self.changes, [])

    def test_what_is_told_of_runs_on_a_gpu(self):
        first, second, third, summary = self.check(Machine())
        self.assertRegex(first.found, r"^samples/s 1,2\d\d, published 400, kernels .* %, published 31.65 %")
        self.assertRegex(second.found, r"; before it: (not )?named.*, brought [+-]0\.\d %")
        self.assertEqual((third.what, third.figures["batch"]), ("2_run", 32))
        self.assertIn("0 of 2 changes brought 3 % or more", summary.found)

    def test_without_pytorch_on_a_gpu_it_is_skipped(self):
        for there in ((0, "no\n", ""), (1, "", "no torch")):
            with self.subTest(there), self.assertRaisesRegex(judging.Skip, "no PyTorch with CUDA"):
                list(self.check(Machine(there=there)))

    def test_what_was_run_is_told_when_the_time_is_over(self):
        told = []
        with self.assertRaises(judging.OutOfTime):
            for row in self.check(Machine(runs=2)):
                told.append(row.what)
        self.assertEqual(told, ["0_run", "1_run", "the next change"])

    def test_a_script_that_fails_under_the_shim_only_is_wrong(self):
        with self.assertRaisesRegex(AssertionError, "under the shim only: .*out of memory"):
            list(self.check(Machine(), "--fails"))

    def test_a_script_that_fails_anyway_is_skipped(self):
        with self.assertRaisesRegex(judging.Skip, "without the shim, too"):
            list(self.check(Machine(), "--steps", "none"))

    def test_a_contradiction_is_wrong(self):
        told = StandIns.real_run

        class Boasts(StandIns):
            def real_run(self, *words, **how):
                one = told(self, *words, **how)
                return one._replace(told={**one.told, "steps": 99})

        with self.assertRaisesRegex(AssertionError, "0_run: 10 steps, the script took 99"):
            list(series_rows.check_series(Machine(), Boasts(), self.changes, []))


@unittest.skipUnless(importlib.util.find_spec("torch") or PYTHON != sys.executable, optional.lacks("torch"))
class InPyTorch(cli.Case):
    """On the CPU: no driver is called, so the shim has nothing to record and changes nothing."""

    def check(self, name, script, *options):
        said = []

        def run_and_read(command, variables):
            done = box.run(command, variables, sim=False, timeout=200)
            said.extend(done.stdout.splitlines()[:1])
            return done

        words = [*SMALL, *options]
        recorded = real.record(script, words, self.folder / name, "tag", python=PYTHON, run=run_and_read)
        self.assertIsNone(recorded.report)
        self.assertEqual(run_and_read([PYTHON, "-B", script, *words], {}).returncode, 0)
        self.assertRegex(said[0], r"^\w+: 2 steps of \d+, loss \d+\.\d+$")
        self.assertEqual(said[1:], said[:1])

    def test_one_run_of_each_series(self):
        self.check("seven", series.FOLDER / "train.py", "--variant", "2", "--workers", "1")
        self.check("ladder", ladder.FOLDER / "train.py", "--rung", "channels_last")
