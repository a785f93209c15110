"""HolisticTraceAnalysis itself opens what `gpushim export chrome` writes, and says what our views say."""
import json
import os
import subprocess
import unittest

import exporting
import hta_oracle
import kineto_made
import optional
from exporting import rows

HTA = os.environ.get("GPUSHIM_HTA_PYTHON")


@unittest.skipUnless(HTA, optional.lacks("hta"))
class Peer(exporting.Export):
    ASK = """
import json, sys
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_dir=sys.argv[1])
time = analysis.get_temporal_breakdown(visualize=False)
ranks = sorted(analysis.t.traces)
idle = [analysis.get_idle_time_breakdown(ranks=[rank], visualize=False)[0] for rank in ranks]
overlap = analysis.get_comm_comp_overlap(visualize=False)
print(json.dumps({"ranks": ranks, "time": time.to_dict("records"), "overlap": overlap.to_dict("records"),
                  "idle": [row for one in idle for row in one.to_dict("records")]}, default=float))
"""

    def ask(self, folder):
        env = {**os.environ, "PYTHONWARNINGS": "ignore"}
        done = subprocess.run([HTA, "-c", self.ASK, str(folder)], env=env, timeout=200, check=False,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        return json.loads(done.stdout.splitlines()[-1])

    def test_of_whole_microseconds_it_says_what_our_views_say(self):
        for rank in (0, 1):
            made = kineto_made.made(20 + rank, 4)
            made.rank = rank
            made.write(self.folder / f"rank-{rank}.json.gz")
        self.gpushim("import", "kineto", *sorted(self.folder.glob("*.json.gz")), "-o", self.folder / "run.db",
                     "--keep-traces", self.folder / "traces")
        self.export(self.folder / "traces", to=f"{self.folder}/out/")
        said = self.ask(self.folder / "out")
        self.assertEqual(said["ranks"], [0, 1])
        ours = rows(self.folder / "run.db", "SELECT rank, kernel_time_ns, idle_share, compute_share, "
                                            "non_compute_share, overlap_share FROM compat_hta_temporal")
        for (rank, window, idle, compute, other, overlap), time, both in zip(ours, said["time"],
                                                                             said["overlap"]):
            self.assertEqual((time["rank"], time["kernel_time(us)"]), (rank, window / 1000))
            for name, share in (("idle", idle), ("compute", compute), ("non_compute", other)):
                self.assertAlmostEqual(time[f"{name}_time(us)"], share * window / 1000, delta=0.01, msg=name)
            self.assertAlmostEqual(both["comp_comm_overlap_pctg"], 100 * overlap, delta=0.006)
        idle = {(rank, stream, category): ns / 1000 for rank, stream, category, ns in
                rows(self.folder / "run.db", "SELECT rank, stream, category, idle_ns FROM compat_hta_idle")}
        theirs = {(row["rank"], row["stream"], row["idle_category"]): row["idle_time"]
                  for row in said["idle"]}
        self.assertEqual({key: idle.get(key, 0) for key in theirs}, theirs)

    def test_of_nanoseconds_it_says_so_as_far_as_it_rounds(self):
        """It rounds starts up and ends down to microseconds: the oracle, rounding likewise, says the same."""
        trace = self.traced_workload("healthy")
        self.export(trace, to=f"{self.folder}/out/")
        said = self.ask(self.folder / "out")
        file, = (self.folder / "out").iterdir()
        rounded = [(-(-start // 1000) * 1000, end // 1000 * 1000, call and -(-call // 1000) * 1000, stream,
                    name) for start, end, call, stream, name in hta_oracle.read(file)]
        expected = hta_oracle.temporal(sorted(rounded, key=lambda row: row[:2]))
        time, = said["time"]
        self.assertEqual(time["kernel_time(us)"], expected["window_ns"] / 1000)
        self.assertAlmostEqual(time["idle_time(us)"], float(expected["idle"]) * time["kernel_time(us)"],
                               delta=0.01)


if __name__ == "__main__":
    unittest.main()
