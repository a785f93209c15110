"""examples/replay: what is replayed has the idle shares of what was recorded."""
import os
import pathlib
import sqlite3
import sys
import unittest

import box
import cli
import hta_oracle
import kineto_made
import optional

REPLAY = box.ROOT / "examples" / "replay" / "replay.py"
sys.path.append(str(REPLAY.parent))
import recording  # noqa: E402

REAL = os.environ.get("GPUSHIM_REAL_TRACES")


class Replay(cli.Case):
    def replayed(self, path):
        out, truth = self.folder / "trace.db", self.folder / "truth"
        done = box.run([cli.GPUSHIM, "run", "--budget", "100%", "-o", out, "--", "python3", REPLAY, path],
                       {"GPUSIM_TRUTH": truth})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, cli.WHERE_TRACES_ARE)
        self.gpushim("analyze", out, "-o", self.folder / "run.db")
        base = sqlite3.connect(self.folder / "run.db")
        self.addCleanup(base.close)
        return base, box.read_truth(truth)

    def hold(self, path):
        base, _ = self.replayed(path)
        rows = hta_oracle.read(path)
        expected = hta_oracle.temporal(rows)
        window, *shares = base.execute("SELECT kernel_time_ns, idle_share, compute_share, non_compute_share, "
                                       "overlap_share FROM compat_hta_temporal").fetchone()
        self.assertAlmostEqual(window / expected["window_ns"], 1, delta=0.005)
        for name, share in zip(("idle", "compute", "non_compute", "overlap"), shares):
            if expected[name] is not None:
                self.assertAlmostEqual(share, float(expected[name]), delta=0.005, msg=name)

    def test_a_made_trace(self):
        self.hold(kineto_made.made(12, 4, lost=0).write(self.folder / "made.json.gz"))

    def test_operations_begin_and_last_as_they_did(self):
        path = kineto_made.made(11, 3).write(self.folder / "made.json.gz")
        _, truth = self.replayed(path)
        recorded = recording.read(path).operations
        ran = [op for op in truth if op.op == "kernel"]  # in the order of issue
        self.assertEqual(len(ran), len(recorded))
        late = [op.start_ns - ran[0].start_ns - (was.start - recorded[0].start)
                for op, was in zip(ran, recorded)]
        self.assertLess(max(map(abs, late)), 5_000)  # calls that come one behind the other
        self.assertEqual([op.end_ns - op.start_ns for op in ran], [was.end - was.start for was in recorded])

    @unittest.skipUnless(REAL, optional.lacks("real_traces"))
    def test_real_traces(self):
        for path in sorted(pathlib.Path(REAL).glob("rank-*.json.gz")):
            with self.subTest(path.name):
                (self.folder / "trace.db").unlink(missing_ok=True)
                (self.folder / "truth").unlink(missing_ok=True)
                self.hold(path)

    def test_off_the_box_it_says_so(self):
        path = kineto_made.made(1, 1).write(self.folder / "made.json.gz")
        done = box.run(["python3", REPLAY, path], sim=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("libcuda.so.1 cannot be loaded", done.stderr)
