"""What `make demo` shows: it trains with and without the shim, the same comes out, and the report follows."""
import concurrent.futures
import re
import unittest

import box


def demo(words):
    return box.run([box.ROOT / "scripts" / "demo", *words], sim=False)


class Demo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Both begin at once: they have one folder, and do not mix."""
        with concurrent.futures.ThreadPoolExecutor() as pool:
            cls.trained, cls.served = pool.map(demo, (["--steps", 30], ["--serve"]))

    def test_it_says_what_was_done_and_what_comes_next(self):
        done = self.trained
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        where = box.BUILD.relative_to(box.ROOT)
        self.assertEqual(lines[0], "deps   ok (first time only: apt packages, CUDA 13.0 headers)   "
                                   f"build  ok: {where}/libgpushim.so, {where}/gpushim")
        self.assertIn("no GPU found: SIMULATED box, 2 GPUs. These are not GPU times.", lines[1])
        train = r"examples/train/train.py --ranks 2 --steps 30"
        self.assertRegex(lines[2], rf"LD_PRELOAD=\S*libgpushim.so .*python3 {train}$")
        self.assertRegex(lines[3], r"^ +loss \d\.\d{3} -> \d\.\d{3} \(bit-identical without gpushim\)$")
        # With their sizes: they were there then. By now the other demo may have wiped them.
        traces = re.findall(r"(\S+\.db) [\d.]+ MB", lines[4])
        self.assertEqual(len(traces), 2)
        self.assertTrue(lines[4].endswith(f"next: {where}/gpushim report {where}/demo/"))
        self.assertRegex(lines[7], r"^VERDICT  \S")
        # On a busy machine half a second of training may not be timed whole: then it says what is missing, in
        # as many lines as that takes.
        self.assertRegex(done.stdout.replace("\n         ", " "),
                         r"\nTRUST    (good[^\n]*\nEVIDENCE SIMULATED: these are not GPU times\n|"
                         r"fair[^\n]*\nEVIDENCE SIMULATED: these are not GPU times; \S)")
        self.assertRegex(done.stdout, r"\nran .* 2 of 2 ranks ")

    def test_a_server_in_three_lines(self):
        done = self.served
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertRegex(lines[3], r"^ +40 requests, \d+ tokens \(bit-identical without gpushim\)$")
        self.assertRegex(lines[7], r"^VERDICT  \S")
        self.assertRegex(done.stdout, r"\nSTEP     \S+ [mu]s from token to token ")
        self.assertRegex(done.stdout, r"\nTRUST    ")
