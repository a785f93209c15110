"""test/run itself: what it counts, and what it calls a failure. Its tests here are shell scripts that
answer like a Catch2 program: a listing when asked for one, else the case named by the last argument."""
import pathlib
import subprocess
import tempfile
import unittest

import box

ANSWER = """#!/bin/sh
[ "$1" = --list-test-names-only ] && {{ printf '%s\\n' {names}; exit {count}; }}
for name; do :; done
case $name in
good*) echo "All tests passed" ;;
skip*) echo "SKIP: optional: browser"; exit 0 ;;
core*) echo "SKIP: there is no such device"; exit 0 ;;
odd*) echo "SKIP: optional: a_quiet_day"; exit 0 ;;
bad*) echo "it is broken"; exit 42 ;;
crash*) kill -SEGV $$ ;;
slow*) sleep 600 ;;
box*) : >/dev/shm/gpusim-0-$GPUSIM_BOX.box1; echo "SKIP: optional: browser ($GPUSIM_BOX)" ;;
leave*) sleep 600 & exit 0 ;;
esac
"""


class Runner(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="gpushim-runner-")
        self.addCleanup(self.folder.cleanup)

    def run_cases(self, *names, **variables):
        program = pathlib.Path(self.folder.name) / "test" / "double"
        program.parent.mkdir(exist_ok=True)
        program.write_text(ANSWER.format(names=" ".join(names) or "''", count=len(names)), encoding="utf-8")
        program.chmod(0o755)
        env = {**box.environment(sim=False), "GPUSHIM_BUILD": self.folder.name, **variables}
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


if __name__ == "__main__":
    unittest.main()
