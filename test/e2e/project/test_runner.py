"""test/run itself: what it counts, and what it calls a failure. Its tests here are scripts that answer like
a Catch2 program: a listing when asked for one, else the cases that the last argument names. What follows a
case's `_` is its file; it notes of how many cases each of its processes is."""
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import tempfile
import unittest

import box

ANSWER = """#!/usr/bin/env python3
import os, signal, sys, time
names = {names!r}
if "--list-test-names-only" in sys.argv:
    for name in names:
        if "[alone]" in sys.argv and not name.startswith("alone"):
            continue
        # As Catch2 does: what has a tag that is not wanted is not named.
        unwanted = {{"serial": "~[one_thread]", "hidden": "~[.]"}}.get(name.rstrip("12"), "no tag")
        if not any(unwanted in tags for tags in sys.argv):
            print(f"{{name}}\\t@{{name.partition('_')[2] or 'a'}}_test.cpp:7")
    sys.exit(len(names))
asked = sys.argv[-1].split(",")
open(os.path.join({folder!r}, "processes"), "a").write(f"{{len(asked)}}\\n")
passed = 0
for case in asked:
    if case.startswith("skip"):
        print("SKIP: optional: browser")
    elif case.startswith("core"):
        print("SKIP: there is no such device")
    elif case.startswith("odd"):
        print("SKIP: optional: a_quiet_day")
    elif case.startswith("bad") or case.startswith("crowd") and len(asked) > 1:
        print("it is broken")
        sys.exit(42)
    elif case.startswith("crash"):
        os.kill(os.getpid(), signal.SIGSEGV)
    elif case.startswith("slow"):
        time.sleep(600)
    elif case.startswith("box"):
        box = os.environ["GPUSIM_BOX"]
        open(f"/dev/shm/gpusim-0-{{box}}.box1", "w").close()
        print(f"SKIP: optional: browser ({{box}})")
    elif case.startswith("killed"):
        print("SKIP: optional: browser", os.environ.get("GPUSHIM_RECOVER"))
    elif case.startswith("leave"):
        os.spawnvp(os.P_NOWAIT, "sleep", ["sleep", "600"])
    elif case.startswith("unsaid"):
        continue
    passed += 1
print(f"All tests passed (9 assertions in {{passed}} test case{{'s' if passed > 1 else ''}})")
"""


class Runner(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="gpushim-runner-")
        self.addCleanup(self.folder.cleanup)

    def run_cases(self, *names, build="build", **variables):
        program = pathlib.Path(self.folder.name) / build / "test" / "double"
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(ANSWER.format(names=names, folder=self.folder.name), encoding="utf-8")
        program.chmod(0o755)
        env = {**box.environment(sim=False), "GPUSHIM_BUILD": str(program.parents[1]), **variables}
        done = subprocess.run([str(box.ROOT / "test" / "run"), "double: "], env=env, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout.splitlines()

    def test_all_pass(self):
        status, lines = self.run_cases("good1", "good2")
        self.assertEqual((status, lines), (0, ["2 passed, 0 failed"]))

    def test_a_failure_is_shown_and_counted(self):
        status, lines = self.run_cases("good1", "bad1", "crash1")
        self.assertEqual((status, lines[-1]), (1, "1 passed, 2 failed"))
        self.assertIn("FAILED  double: bad1: exit status 42", lines)
        self.assertIn("    it is broken", lines)
        self.assertIn("FAILED  double: crash1: signal 11", lines)

    def test_skipped_are_listed_with_the_reason_and_not_counted(self):
        status, lines = self.run_cases("good1", "skip1")
        self.assertEqual((status, lines[-1]), (0, "1 passed, 0 failed"))
        self.assertIn("skipped double: skip1: optional: browser", lines)

    def test_what_needs_something_optional_may_be_skipped_however_often(self):
        status, lines = self.run_cases("good", *(f"skip{n}" for n in range(15)))
        self.assertEqual((status, lines[-1]), (0, "1 passed, 0 failed"))

    def test_a_core_test_may_not_be_skipped(self):
        status, lines = self.run_cases("good", "core1", "odd1")
        self.assertEqual((status, lines[-1]), (1, "1 passed, 2 failed"))
        self.assertIn("FAILED  double: core1: a core test was skipped: there is no such device", lines)
        self.assertIn("FAILED  double: odd1: a core test was skipped: optional: a_quiet_day", lines)

    def test_what_a_machine_must_have_is_not_optional_there(self):
        status, lines = self.run_cases("skip1", MUST_HAVE="strace browser")
        self.assertEqual((status, lines[-1]), (1, "0 passed, 1 failed"))
        self.assertIn("FAILED  double: skip1: a core test was skipped: optional: browser", lines)
        self.assertEqual(self.run_cases("good1", "skip1", MUST_HAVE="strace")[0], 0)

    def test_every_test_has_a_box_of_its_own_that_goes_with_it(self):
        _, lines = self.run_cases("box1", "box2")
        boxes = [line.split(" (")[1].rstrip(")") for line in lines if line.startswith("skipped")]
        self.assertEqual(len(set(boxes)), 2)
        for name in boxes:
            self.assertEqual(list(pathlib.Path("/dev/shm").glob(f"*{name}*")), [])

    def test_what_killed_processes_leave_is_for_their_test(self):
        _, lines = self.run_cases("killed", GPUSHIM_RECOVER="all")
        self.assertIn("skipped double: killed: optional: browser own", lines)

    def test_nothing_to_run_is_a_failure(self):
        status, lines = self.run_cases()
        self.assertEqual((status, lines[-1]), (1, "0 passed, 1 failed"))

    def test_processes_left_behind_are_ended_and_fail_the_test(self):
        status, lines = self.run_cases("leave1")
        self.assertEqual((status, lines[-1]), (1, "0 passed, 1 failed"))
        self.assertIn("FAILED  double: leave1: left processes behind", lines)

    def test_a_test_that_does_not_end_is_killed(self):
        status, lines = self.run_cases("slow1", "good1", LIMIT_S="1")
        self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed"))
        self.assertIn("FAILED  double: slow1: still running after 1 s", lines)


class Together(Runner):
    """Under sanitizers the cases of a file share a process."""

    def run_cases(self, *names, build="san-address", **variables):
        status, lines = super().run_cases(*names, build=build, **variables)
        self.assertEqual(lines.pop(0), "under sanitizers the unit tests run, the end-to-end tests do not")
        return status, lines

    def processes(self):
        path = pathlib.Path(self.folder.name) / "processes"
        return sorted(map(int, path.read_text(encoding="utf-8").split()))

    def test_a_process_for_each_file(self):
        self.assertEqual(self.run_cases("good1", "good_b", "good2", "better_b", "good3"),
                         (0, ["5 passed, 0 failed"]))
        self.assertEqual(self.processes(), [2, 3])

    def test_what_says_so_is_alone(self):
        self.assertEqual(self.run_cases("good1", "alone1", "good2", "alone2"), (0, ["4 passed, 0 failed"]))
        self.assertEqual(self.processes(), [1, 1, 2])

    def test_what_has_one_thread_tells_the_thread_sanitizer_nothing(self):
        self.assertEqual(self.run_cases("good1", "serial1"), (0, ["2 passed, 0 failed"]))
        self.assertEqual(self.run_cases("good1", "serial1", build="san-thread"), (0, ["1 passed, 0 failed"]))

    def test_hidden_cases_stay_hidden_where_others_are_left_out(self):
        for variables in {"build": "build"}, {"build": "san-thread"}, {"build": "build", "EMULATED": "1"}:
            _, lines = Runner.run_cases(self, "good1", "hidden1", **variables)
            self.assertEqual(lines[-1], "1 passed, 0 failed")

    def test_without_a_sanitizer_every_case_is_alone(self):
        super().run_cases("good1", "good2")
        self.assertEqual(self.processes(), [1, 1])

    def test_of_a_batch_that_does_not_pass_each_case_says_what_it_is(self):
        status, lines = self.run_cases("good1", "bad1", "skip1", "crash1", "slow1", "good2", "good_b",
                                       LIMIT_S="2")
        self.assertEqual((status, lines[-1]), (1, "3 passed, 3 failed"))
        self.assertEqual([line for line in lines if line.startswith("FAILED")],
                         ["FAILED  double: bad1: exit status 42", "FAILED  double: crash1: signal 11",
                          "FAILED  double: slow1: still running after 2 s"])
        self.assertIn("skipped double: skip1: optional: browser", lines)

    def test_each_way_of_not_passing_by_itself(self):
        for odd, last in {"bad1": "2 passed, 1 failed", "crash1": "2 passed, 1 failed",
                          "slow1": "2 passed, 1 failed", "leave1": "2 passed, 1 failed",
                          "skip1": "2 passed, 0 failed", "core1": "2 passed, 1 failed"}.items():
            with self.subTest(odd):
                self.assertEqual(self.run_cases("good1", odd, "good2", LIMIT_S="2")[1][-1], last)

    def test_what_passes_only_by_itself_is_a_failure(self):
        status, lines = self.run_cases("good1", "crowd1", "good2")
        self.assertEqual((status, lines[-1]), (1, "3 passed, 1 failed"))
        self.assertIn("FAILED  double: a_test.cpp: exit status 42, though all of it passes one by one", lines)

    def test_a_batch_that_ran_fewer_than_asked_is_a_failure(self):
        status, lines = self.run_cases("good1", "unsaid1")
        self.assertEqual((status, lines[-1]), (1, "2 passed, 1 failed"))
        self.assertIn("FAILED  double: a_test.cpp: ran 1 of 2 tests, though all of it passes one by one",
                      lines)


class Methods(unittest.TestCase):
    """Which methods share a process."""

    def batches(self):
        path = box.ROOT / "test" / "run"
        loader = importlib.machinery.SourceFileLoader("runner", str(path))
        runner = importlib.util.module_from_spec(importlib.util.spec_from_loader("runner", loader))
        loader.exec_module(runner)
        return runner, runner.batches(runner.end_to_end_tests())

    def test_those_of_a_class_that_is_set_up_once_and_no_others(self):
        runner, batches = self.batches()
        of = {test.case: len(batch) for batch in batches for test in batch}
        self.assertEqual(of["test_runner.Once.test_one"], 2)
        self.assertEqual(of["test_runner.Once.test_other"], 2)
        self.assertEqual(of["test_runner.Counts.test_truth_is_read"], 1)
        batch = next(batch for batch in batches if batch[0].case.startswith("test_runner.Once."))
        self.assertEqual([(outcome.test.case, outcome.why_failed) for outcome in runner.run(batch)],
                         [(test.case, None) for test in batch])


class Once(unittest.TestCase):
    """Fails where its methods do not share a process."""

    @classmethod
    def setUpClass(cls):
        cls.seen = set()

    def test_one(self):
        self.seen.add(1)

    def test_other(self):
        self.assertEqual(self.seen, {1})


class Counts(unittest.TestCase):
    def test_counts_are_read_and_printed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "truth.counts"
            record = box.COUNT_RECORD.pack
            path.write_bytes(record(b"cuInit", 3, 2, 1) + record(b"", 0, 0, 0) + record(b"cuLater", 9, 9, 9))
            self.assertEqual(box.read_counts(path), {"cuInit": box.Count(3, 2, 1)})
            shown = box.run([box.ROOT / "scripts" / "sim-counts", path], sim=False)
            self.assertEqual(shown.stdout.splitlines()[-1].split(), ["cuInit", "3", "2", "1"])

    def test_truth_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "truth"
            path.write_text("kernel\t0\t7\t100\t200\t0\ta kernel\t50\t60\n", encoding="utf-8")
            (operation,) = box.read_truth(path)
            self.assertEqual((operation.end_ns - operation.start_ns, operation.name), (100, "a kernel"))
            path.write_text("kernel\t0\n", encoding="utf-8")
            with self.assertRaises(ValueError):
                box.read_truth(path)


class WithSim(unittest.TestCase):
    def test_puts_the_box_first_and_nothing_else(self):
        show = [box.ROOT / "scripts" / "with-sim", "env"]
        before = {**box.environment(sim=False), "LD_LIBRARY_PATH": "/elsewhere"}
        done = subprocess.run([str(word) for word in show], env=before, stdout=subprocess.PIPE, text=True,
                              check=True)
        after = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
        self.assertEqual(after.pop("LD_LIBRARY_PATH"), f"{box.SIM}:/elsewhere")
        before.pop("LD_LIBRARY_PATH")
        for unstable in ("_", "PWD", "SHLVL", "OLDPWD"):
            before.pop(unstable, None)
            after.pop(unstable, None)
        self.assertEqual(after, before)

    def test_passes_the_exit_status_on(self):
        self.assertEqual(box.run([box.ROOT / "scripts" / "with-sim", "sh", "-c", "exit 7"]).returncode, 7)
