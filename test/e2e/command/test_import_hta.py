"""gpushim import kineto beside HolisticTraceAnalysis: shares and overlap of the same files."""
import os
import pathlib
import unittest

import hta_oracle
import importing
import kineto_made
import optional

REAL = os.environ.get("GPUSHIM_REAL_TRACES")
SHARES = ("idle", "compute", "non_compute", "overlap")


class Hta(importing.Import):
    def compare(self, base, rank, path):
        rows = hta_oracle.read(path)
        expected = hta_oracle.temporal(rows)
        found = base.execute("SELECT kernel_time_ns, idle_share, compute_share, non_compute_share, "
                             "overlap_share FROM compat_hta_temporal WHERE rank = ?", (rank,)).fetchone()
        self.assertEqual(found[0], expected["window_ns"])
        for name, share in zip(SHARES, found[1:]):
            if expected[name] is None:
                self.assertIsNone(share)
            else:
                self.assertAlmostEqual(share, float(expected[name]), delta=1e-9, msg=name)
        idle = {(stream, category): ns for stream, category, ns in
                base.execute("SELECT stream, category, idle_ns FROM compat_hta_idle WHERE rank = ?", (rank,))}
        self.assertEqual(idle, hta_oracle.idle_by_stream(rows))

    def test_made_traces_say_what_the_oracle_says(self):
        for seed, (steps, unit_ns) in enumerate([(3, 1000), (2, 1000), (1, 1000), (0, 1000), (4, 1), (6, 1)]):
            with self.subTest(steps=steps, unit_ns=unit_ns):
                trace = kineto_made.made(seed, max(steps, 1), unit_ns)
                if steps == 0:
                    trace.events = [e for e in trace.events if "ProfilerStep" not in e["name"]]
                path = trace.write(self.folder / f"made-{seed}.json.gz")
                self.compare(self.imported(path), 0, path)

    @unittest.skipUnless(REAL, optional.lacks("real_traces"))
    def test_real_traces_say_what_the_other_tool_said(self):
        said = {0: (53.56, 17.71, 28.74, 11.81), 1: (54.72, 22.57, 22.72, 20.05)}  # percent
        windows = {0: 600058000, 1: 600674000}
        idle = {(0, 7): (213825, 1985, 261740), (0, 23): (596037, 70, 34), (1, 7): (156827, 1816, 281064),
                (1, 84): (251860, 0, 23247)}  # us: host_wait, kernel_wait, other
        paths = [pathlib.Path(REAL) / f"rank-{rank}.json.gz" for rank in said]
        base = self.imported(*paths)
        for rank, path in enumerate(paths):
            self.compare(base, rank, path)
            found = base.execute("SELECT kernel_time_ns, idle_share, compute_share, non_compute_share, "
                                 "overlap_share FROM compat_hta_temporal WHERE rank = ?", (rank,)).fetchone()
            self.assertEqual(found[0], windows[rank])
            for ours, theirs in zip(found[1:], said[rank]):
                self.assertAlmostEqual(100 * ours, theirs, delta=0.1)
        for (rank, stream), classes in idle.items():
            for category, microseconds in zip(("host_wait", "kernel_wait", "other"), classes):
                found = base.execute("SELECT coalesce(sum(idle_ns), 0) FROM compat_hta_idle WHERE rank = ? "
                                     "AND stream = ? AND category = ?",
                                     (rank, stream, category)).fetchone()[0]
                self.assertAlmostEqual(found / 1000, microseconds, delta=0.01 * microseconds)
        self.assertEqual(base.execute("SELECT key, value FROM run WHERE key IN ('ranks_seen', "
                                      "'ranks_expected') ORDER BY key").fetchall(),
                         [("ranks_expected", 128), ("ranks_seen", 2)])
