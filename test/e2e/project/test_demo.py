"""What `make demo` shows: it trains with and without the shim, the same comes out, and the report follows."""
import re
import unittest

import box


class Demo(unittest.TestCase):
    def test_it_says_what_was_done_and_what_comes_next(self):
        done = box.run([box.ROOT / "scripts" / "demo", "--steps", 30], sim=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        where = box.BUILD.relative_to(box.ROOT)
        self.assertEqual(lines[0], "deps   ok (first time only: apt packages, CUDA 13.0 headers)   "
                                   f"build  ok: {where}/libgpushim.so, {where}/gpushim")
        self.assertIn("no GPU found: SIMULATED box, 2 GPUs. These are not GPU times.", lines[1])
        train = r"examples/train/train.py --ranks 2 --steps 30"
        self.assertRegex(lines[2], rf"LD_PRELOAD=\S*libgpushim.so .*python3 {train}$")
        self.assertRegex(lines[3], r"^ +loss \d\.\d{3} -> \d\.\d{3} \(bit-identical without gpushim\)$")
        traces = re.findall(r"(\S+\.db) [\d.]+ MB", lines[4])
        self.assertEqual(len(traces), 2)
        for trace in traces:
            self.assertTrue((box.ROOT / trace).exists(), trace)
        self.assertTrue(lines[4].endswith(f"next: {where}/gpushim report {where}/demo/"))
        self.assertRegex(lines[7], r"^VERDICT  \S")
        self.assertRegex(done.stdout, r"\nTRUST    good[^\n]*\nEVIDENCE SIMULATED: these are not GPU times\n")
        self.assertRegex(done.stdout, r"\nran .* 2 of 2 ranks ")


    def test_a_server_in_three_lines(self):
        done = box.run([box.ROOT / "scripts" / "demo", "--serve"], sim=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertRegex(lines[3], r"^ +40 requests, \d+ tokens \(bit-identical without gpushim\)$")
        self.assertRegex(lines[7], r"^VERDICT  \S")
        self.assertRegex(done.stdout, r"\nSTEP     \S+ [mu]s from token to token ")
        self.assertRegex(done.stdout, r"\nTRUST    ")


if __name__ == "__main__":
    unittest.main()
