"""examples/linked: a program that is linked against libcuda."""
import unittest

import box

LINKED = box.BUILD / "examples" / "linked"


class Linked(unittest.TestCase):
    def run_linked(self, expect=0, **knobs):
        done = box.run([LINKED], {"GPUSIM_CLOCK": "stepped", **knobs})
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def test_bytes_come_back_and_streams_run_beside_each_other(self):
        lines = self.run_linked().stdout.splitlines()
        self.assertRegex(lines[0], "^device 0 is a Simulated ")
        self.assertEqual(lines[1:], ["4194304 bytes up, across and down again: the same",
                                     "8 kernels of 0.5 ms on two streams: beside each other"])

    def test_it_prints_what_its_readme_shows(self):
        readme = (box.ROOT / "examples" / "linked" / "README.md").read_text(encoding="utf-8")
        for line in self.run_linked().stdout.splitlines():
            self.assertIn(f"    {line}\n", readme)

    def test_a_failing_call_is_named(self):
        done = self.run_linked(expect=1, GPUSIM_FAIL="cuEventRecord:1:400")
        self.assertIn("cuEventRecord(arrived, up) returned CUDA_ERROR_INVALID_HANDLE", done.stderr)
