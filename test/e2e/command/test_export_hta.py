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

    QUEUES = """
import json, sys
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_dir=sys.argv[1])
ranks = sorted(analysis.t.traces)
queues = [analysis.get_queue_length_summary(ranks=[rank])["queue_length"].reset_index() for rank in ranks]
print(json.dumps([row for one in queues for row in one.to_dict("records")], default=float))
"""
    STRAGGLERS = """
import json, sys
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_dir=sys.argv[1])
print(json.dumps([int(rank) for rank in analysis.get_potential_stragglers(num_candidates=1)]))
"""

    def ask(self, folder, what=ASK):
        env = {**os.environ, "PYTHONWARNINGS": "ignore"}
        done = subprocess.run([HTA, "-c", what, str(folder)], env=env, timeout=200, check=False,
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

    def brought_in_and_out(self, *made):
        (self.folder / "in").mkdir()
        for rank, trace in enumerate(made):
            trace.rank, trace.world_size = rank, len(made)
            trace.write(self.folder / "in" / f"rank-{rank}.json.gz")
        self.gpushim("import", "kineto", *sorted((self.folder / "in").iterdir()), "-o",
                     self.folder / "run.db", "--keep-traces", self.folder / "traces")
        self.export(self.folder / "traces", to=f"{self.folder}/out/")

    def test_queues_are_as_long_as_in_the_profile_that_was_brought_in(self):
        """It counts one more at each call and one less at each start, of the steps that it thinks whole.
        Which of two in the same microsecond is first it leaves open."""
        self.brought_in_and_out(kineto_made.made(31, 6), kineto_made.made(32, 6))
        first, second = ({(row["rank"], row["stream"]): row
                          for row in self.ask(self.folder / place, self.QUEUES)} for place in ("in", "out"))
        self.assertEqual(set(first), {(rank, stream) for rank in (0, 1) for stream in (7, 20, 24)})
        self.assertEqual(set(first), set(second))
        for key, row in first.items():
            self.assertEqual(row["count"], second[key]["count"], key)
            self.assertGreater(row["count"], 20)
            self.assertAlmostEqual(row["max"], second[key]["max"], delta=1, msg=key)
            self.assertAlmostEqual(row["mean"], second[key]["mean"], delta=0.1, msg=key)

    def test_the_rank_that_it_calls_a_straggler_is_ours(self):
        """Four ranks, of which the third takes 1.3 times as long; a collective begins when the rank is there
        and ends on all together. By the older name of its kernel: it knows no newer one."""
        made = [kineto_made.Trace() for _ in range(4)]
        begin = 1_000_000
        for step in range(30):
            work = [1_000_000 + 50_000 * rank + (300_000 if rank == 2 else 0) for rank in range(4)]
            end = begin + 20_000 + max(work) + 200_000
            for rank, trace in enumerate(made):
                start = begin + 20_000
                trace.kernel("ampere_sgemm_128x64_tn", begin + 5000, start, work[rank])
                trace.kernel(kineto_made.OLD_COLLECTIVE.replace("SendRecv", "AllReduce"), begin + 9000,
                             start + work[rank], end - start - work[rank], 20,
                             **{**kineto_made.NCCL_ARGUMENTS, "Group size": 4,
                                "Process Group Ranks": "[0, 1, 2, 3]"})
                trace.step(step + 5, begin, end + 1000 - begin)
            begin = end + 10_000
        self.brought_in_and_out(*made)
        self.assertEqual(self.ask(self.folder / "out", self.STRAGGLERS), [2])
        skew = json.loads(self.gpushim("report", self.folder / "run.db", "--json").stdout)["skew"]
        self.assertEqual(skew["straggler"]["rank"], 2)

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
