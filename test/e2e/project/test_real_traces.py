"""What test/real_traces/run does by itself: what is not there is skipped, and what the reader does not accept
fails."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import box
import kineto_made

HERE = box.ROOT / "test" / "real_traces"


class RealTraces(unittest.TestCase):
    """A copy of the program with facts of its own, and a folder with a trace of two steps of 1 ms."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpushim-real-traces-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("run", "peers.py"):
            shutil.copy(HERE / name, self.root / name)
        self.write(tells_the_host=True)

    def write(self, tells_the_host):
        trace = kineto_made.Trace(0)
        for number in (1, 2):
            at = number * 1_000_000
            trace.step(number, at, 1_000_000)
            if tells_the_host:
                trace.add("cpu_op", "aten::mm", at, 1_000_000, kineto_made.PID, kineto_made.TID)
            for kernel in range(8):  # all of the step but 1 us behind each
                trace.kernel("gemm", at + 10_000, at + 20_000 + kernel * 121_000, 120_000)
        trace.write(self.root / "made.json.gz")

    def table(self, **facts):
        """(status, the file's line, the last line)"""
        told = {"from": "kineto", "first": ["none"], "step_ms": [0.9, 1.1], "busy": [0.9, 1],
                "productive": [0.9, 1], **facts}
        (self.root / "facts.json").write_text(json.dumps({"files": {"made.json.gz": told}}))
        done = subprocess.run([sys.executable, "-B", self.root / "run"], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, "GPUSHIM_REAL_TRACES": str(self.root),
                                   "GPUSHIM_BUILD": str(box.BUILD)})
        lines = done.stdout.splitlines()
        return done.returncode, lines[-2] if len(lines) > 1 else "", lines[-1]

    def test_what_the_reader_accepts_passes(self):
        status, line, last = self.table()
        self.assertEqual((status, last), (0, "1 passed, 0 failed"), line)
        self.assertRegex(line, r"^made +none .* 1\.00 .* ok$")

    def test_what_the_reader_does_not_accept_fails_and_says_why(self):
        for facts, why in (({"first": ["input_bound"]}, "first is not input_bound"),
                           ({"step_ms": [2, 3]}, "step is [2, 3]"),
                           ({"step_ms": "one"}, "step is one"),
                           ({"busy": [0.1, 0.2]}, "busy is [0.1, 0.2]"),
                           ({"productive": [[0.1, 0.2], [0.3, 0.4]]},
                            "productive is [[0.1, 0.2], [0.3, 0.4]]"),
                           ({"torch_us": {"kernel": 2000}}, "torch_us: kernel 960.00, not 2000")):
            with self.subTest(why):
                status, line, last = self.table(**facts)
                self.assertEqual((status, last), (1, "0 passed, 1 failed"))
                self.assertIn("WRONG: " + why, line)

    def test_idle_time_of_which_nothing_tells_what_the_host_did_fails(self):
        self.write(tells_the_host=False)
        status, line, last = self.table()
        self.assertEqual((status, last), (1, "0 passed, 1 failed"))
        self.assertRegex(line, r"WRONG: of \d+ % of the idle time it is not known what the host did$")

    def test_what_is_not_there_is_skipped(self):
        status, line, last = self.table(**{"from": "other"})
        self.assertEqual((status, last), (0, "0 passed, 0 failed"))
        self.assertIn("skipped: gpushim does not read other", line)
        (self.root / "made.json.gz").unlink()
        status, line, last = self.table()
        self.assertEqual((status, last), (0, "0 passed, 0 failed"))
        self.assertEqual(line, f"skipped: no real traces in {self.root}")
