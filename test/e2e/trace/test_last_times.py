"""Device times of what ran last: before a context ends, and before the process does."""
import pathlib
import shutil
import sys
import tempfile
import unittest

import box
import optional
import preload

TRAIN = [sys.executable, "-B", box.ROOT / "examples" / "train" / "train.py"]
SMALL = ["--steps", "40", "--params", "60000", "--bucket-mb", "0.1", "--input-mb", "0.1"]
UNTIMED = "SELECT count(*) FROM launch WHERE enter_ns NOT IN (SELECT enter_ns FROM launch_device)"
# Launches, and ends at once: whatever the driver says then is no complaint of ours.
ENDS = """
import ctypes, os, sys
cuda = ctypes.CDLL("libcuda.so.1")
context, stream = ctypes.c_void_p(), ctypes.c_void_p()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
memory = ctypes.c_uint64()
assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(1 << 16)) == 0
for _ in range(int(sys.argv[1])):
    assert cuda.cuMemsetD8Async(memory, ctypes.c_ubyte(0), ctypes.c_size_t(1 << 16), None) == 0
"""


class LastTimes(unittest.TestCase):
    def test_before_a_context_ends(self):
        with tempfile.TemporaryDirectory() as folder:
            done = box.run([*TRAIN, *SMALL],
                           preload.variables(folder, GPUSIM_DEVICES=2, GPUSHIM_BUDGET="100%"))
            self.assertEqual(done.returncode, 0, done.stderr)
            traces = [trace for trace in pathlib.Path(folder).glob("trace.*.db")
                      if preload.query(trace, "SELECT count(*) FROM launch")[0][0]]
            self.assertEqual(len(traces), 2)
            for trace in traces:
                # What ran before the first events were there has none.
                begun, = preload.query(trace, "SELECT min(enter_ns) FROM launch_device")[0]
                self.assertIsNotNone(begun)
                self.assertEqual(preload.query(trace, f"{UNTIMED} AND enter_ns >= {begun}"), [(0,)])
                self.assertEqual(preload.query(trace, "SELECT * FROM window WHERE timed < operations"), [])

    def test_the_end_is_no_complaint(self):
        for count in (0, 1, 100, 5_000):
            with self.subTest(count), tempfile.TemporaryDirectory() as folder:
                done = box.run([sys.executable, "-c", ENDS, str(count)],
                               preload.variables(folder, GPUSHIM_BUDGET="100%"))
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                trace, = pathlib.Path(folder).glob("trace.*.db")
                self.assertEqual(preload.query(trace, "SELECT * FROM refusal"), [])

    @unittest.skipUnless(shutil.which("strace"), optional.lacks("strace"))
    def test_on_the_stepped_clock_a_disk_may_be_slow(self):
        """There is no hurry there: what is recorded is the same, or tests would depend on the disk."""
        seen = []
        for slow in ([], ["-e", "inject=pwrite64:delay_enter=400000:when=16+3"]):
            with tempfile.TemporaryDirectory() as folder:
                knobs = preload.variables(folder, GPUSHIM_BUDGET="100%", GPUSIM_CLOCK="stepped")
                under = [f"-E{name}={knobs.pop(name)}" for name in ("LD_PRELOAD",)]
                strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=pwrite64", *slow, *under]
                done = box.run([*strace, sys.executable, "-c", ENDS, "400"], knobs)
                if "ptrace" in done.stderr:
                    self.skipTest(optional.lacks("strace", "ptrace is refused"))
                self.assertEqual(done.returncode, 0, done.stderr)  # strace may have something to say, too
                trace, = pathlib.Path(folder).glob("trace.*.db")
                seen.append(preload.query(trace, "SELECT count(*), min(enter_ns), max(enter_ns)"
                                                 " FROM memset_device"))
        self.assertEqual(seen[0], seen[1])
        self.assertGreater(seen[0][0][0], 300)
