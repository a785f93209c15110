"""What the analysis says of training loops with one thing wrong each, against what the box knows of them."""
import json
import pathlib
import sqlite3
import subprocess
import tempfile
import time
import unittest

import answered
import box
import cli
import in_memory

WORKLOADS = box.TOOLS / "answer/workloads.py"
STEPS = 40
MS = 1_000_000
# Idle time on GPU 0 for which no cause is known or the device itself is to blame.
REST = ("host_cpu", "host_unknown", "device_other", "unresolved", "tail")
STEPPED = {"GPUSIM_CLOCK": "stepped"}
PATIENCE_S = 300
LATENCY_NS = 8_000
ALL = None  # but for one launch's latency, in which nothing could be done
# What is wrong: the cause that has to be named, ns of it in a step, further knobs of the box.
WRONG = {
    "input_cpu": ("input_cpu", 3 * MS, {}),
    "input_wait": ("input_wait", 3 * MS, {}),
    "host_cpu": ("host_cpu", 3 * MS, {}),
    "host_blocked": ("host_blocked", 3 * MS, {}),
    "launching_other_gpu": ("launching_other_gpu", 3 * MS, {"GPUSIM_DEVICES": 2}),
    "sync": ("sync", 3 * MS, {}),
    "sync_other_gpu": ("sync_other_gpu", 3 * MS, {"GPUSIM_DEVICES": 2}),
    "copy_staging": ("copy_staging", 4 * 4_000_000 / 6, {"GPUSIM_DEVICES": 2}),
    "alloc_or_load": ("alloc_or_load", 3 * MS, {"GPUSIM_CALL_NS": 1500}),
    "wait_other_gpu": ("wait_other_gpu", 3 * MS, {"GPUSIM_DEVICES": 2}),
    "wait_host_callback": ("wait_host_callback", 3 * MS, {}),
    "launch_bound": ("launch_bound", ALL, {}),
}


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def truth(self, name, knobs):
        """Idle ns of GPU 0 in a step, of the program alone: from its first input copy to its last."""
        truth = self.folder / "truth"
        done = box.run(["python3", WORKLOADS, name, STEPS], {**STEPPED, **knobs, "GPUSIM_TRUTH": truth})
        self.assertEqual(done.returncode, 0, done.stderr)
        ran = [op for op in box.read_truth(truth)
               if op.device == 0 and op.op in ("kernel", "h2d", "d2h", "d2d", "memset")]
        copies = [op.start_ns for op in ran if op.op == "h2d"]
        idle_ns, end_ns = 0, min(copies)
        for start_ns, stop_ns in sorted((op.start_ns, op.end_ns) for op in ran if op.start_ns <= max(copies)):
            idle_ns += max(0, start_ns - end_ns)
            end_ns = max(end_ns, stop_ns)
        return idle_ns / (STEPS - 1)

    def analysed(self, name, knobs, steps=STEPS):
        preload = {"LD_PRELOAD": box.BUILD / "libgpushim.so", "GPUSHIM_OUT": self.folder / "trace.db",
                   "GPUSHIM_BUDGET": "100%"}
        done = box.run(["python3", WORKLOADS, name, steps], {**STEPPED, **knobs, **preload})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        run = self.folder / "run.db"
        done = box.run([box.BUILD / "gpushim", "analyze", self.folder / "trace.db", "-o", run], sim=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        base = sqlite3.connect(run)
        self.addCleanup(base.close)
        return base


class Answer(Program):
    def causes(self, base):
        """Idle ns by cause of GPU 0 in a counted step."""
        steps = base.execute("SELECT count(*) FROM gpu_step JOIN step USING (step) WHERE gpu_id = 0"
                             " AND step >= 0 AND left_out = 0 AND warm_up = 0").fetchone()[0]
        self.assertGreaterEqual(steps, STEPS - 4)
        rows = base.execute("SELECT cause, sum(ns) FROM gap JOIN step USING (step) WHERE gpu_id = 0"
                            " AND step >= 0 AND left_out = 0 AND warm_up = 0 GROUP BY cause").fetchall()
        return {cause: ns / steps for cause, ns in rows}

    def held_to(self, name):
        cause, wrong_ns, knobs = WRONG[name]
        idle_ns = self.truth(name, knobs)
        wrong_ns = idle_ns - LATENCY_NS if wrong_ns is ALL else wrong_ns
        base = self.analysed(name, knobs)
        causes = self.causes(base)
        by_size = dict(sorted(causes.items(), key=lambda pair: -pair[1]))
        said = f"{name}: {by_size}, idle in truth {idle_ns:.0f}"
        self.assertEqual(max(causes, key=causes.get), cause, said)
        self.assertAlmostEqual(causes[cause] / wrong_ns, 1, delta=0.05, msg=said)
        self.assertAlmostEqual(sum(causes.values()) / idle_ns, 1, delta=0.05, msg=said)
        rest_ns = sum(ns for other, ns in causes.items() if other in REST and other != cause)
        self.assertLessEqual(rest_ns, 0.05 * idle_ns, said)
        other = base.execute("SELECT count(*) FROM"
                             " (SELECT gpu_id, step, sum(ns) AS ns FROM gap GROUP BY 1, 2) g LEFT JOIN"
                             " activity a ON a.gpu_id = g.gpu_id AND a.step = g.step AND a.classes = 0"
                             " WHERE g.ns IS NOT a.ns")
        self.assertEqual(other.fetchone()[0], 0)


class Launches(Program):
    LAUNCHES = "SELECT timed, on_empty, behind, latency_p50_ns, latency_p95_ns FROM launch_stat"

    def test_one_that_follows_a_wait_finds_the_gpu_empty(self):
        found = self.analysed("one_by_one", {}).execute(self.LAUNCHES).fetchone()
        timed, on_empty, _, p50_ns, p95_ns = found
        said = str(found)
        self.assertGreater(timed, 9 * STEPS, said)
        self.assertGreaterEqual(on_empty, 0.99 * timed, said)
        self.assertAlmostEqual(p50_ns / LATENCY_NS, 1, delta=0.05, msg=said)
        self.assertAlmostEqual(p95_ns / LATENCY_NS, 1, delta=0.05, msg=said)

    def test_one_that_follows_another_does_not(self):
        timed, on_empty, behind, _, _ = self.analysed("launch_bound", {}).execute(self.LAUNCHES).fetchone()
        self.assertGreater(timed, 190 * STEPS)
        self.assertEqual((on_empty, behind), (0, timed))


class Ranks(unittest.TestCase):
    """Eight ranks with 10 ms of kernels a step, rank 3 slowed 1.3 times."""

    RANKS, SLOW, FLOATS = 8, 3, 11_689_512

    @classmethod
    def setUpClass(cls):
        cls.folder = in_memory.folder_of(cls)
        answered.run_ranks(cls.folder, cls.RANKS, STEPS, "AllReduce", cls.FLOATS,
                           {"GPUSIM_SLOW": f"{cls.SLOW}:1.3"})
        cls.base = answered.analysed(cls.folder)
        cls.addClassCleanup(cls.base.close)

    def ask(self, sql):
        return self.base.execute(sql).fetchall()

    def test_the_straggler_is_named_with_what_it_costs_and_why(self):
        found = self.ask("SELECT straggler_rank, time_saved_per_step_ns, p_value, cause FROM skew")
        self.assertEqual(len(found), 1)
        rank, saved_ns, p_value, cause = found[0]
        self.assertEqual((rank, cause), (self.SLOW, "compute"))
        self.assertAlmostEqual(saved_ns / (3 * MS), 1, delta=0.05)
        self.assertLess(p_value, 0.001)

    def test_the_others_are_busy_and_not_productive(self):
        rows = self.ask("SELECT r.rank, sum(v.busy_ns) * 1.0 / sum(v.window_ns), sum(v.productive_ns) * 1.0 /"
                        " sum(v.window_ns) FROM v_gpu_step v JOIN gpu g USING (gpu_id)"
                        " JOIN rank r USING (rank_id)"
                        " JOIN step s ON s.rank_id = r.rank_id AND s.step = v.step"
                        " WHERE s.left_out = 0 AND s.warm_up = 0 GROUP BY 1")
        self.assertEqual(len(rows), self.RANKS)
        for rank, busy, productive in rows:
            self.assertAlmostEqual(busy, 1, delta=0.02, msg=rank)
            self.assertAlmostEqual(productive, 0.97 if rank == self.SLOW else 0.745, delta=0.02, msg=rank)

    def test_each_instance_is_one_over_all_ranks(self):
        self.assertEqual(self.ask("SELECT count(DISTINCT instance), count(*), min(parts), max(ranks) FROM"
                                  " collective_instance WHERE op = 'allreduce'"),
                         [(STEPS, STEPS * self.RANKS, self.RANKS, self.RANKS)])
        waits = self.ask("SELECT avg(wait_ns) FROM collective_instance WHERE comm_rank <> 3")[0][0]
        self.assertAlmostEqual(waits / (3 * MS), 1, delta=0.05)
        longest = self.ask("SELECT max(wait_ns) FROM collective_instance WHERE comm_rank = 3")[0][0]
        self.assertLess(longest, MS / 50)

    def test_the_transfer_is_what_the_box_makes_it(self):
        """2(n-1)/n * S / B + alpha: the box's own formula, with 200 GB/s and 10 us."""
        truth_ns = 2 * 7 / 8 * 4 * self.FLOATS / 200 + 10_000
        found = self.ask("SELECT transfer_p50_ns, busbw_bytes_per_s, expected_ring_ns FROM collective_stat")
        self.assertEqual(len(found), 1)
        self.assertAlmostEqual(found[0][0] / truth_ns, 1, delta=0.02)
        self.assertAlmostEqual(found[0][1] / (2 * 7 / 8 * 4 * self.FLOATS / (truth_ns * 1e-9)), 1, delta=0.02)
        self.assertAlmostEqual(found[0][2] / truth_ns, 1, delta=0.1)

    def test_operations_of_a_sample_are_those_of_each_gpu_in_a_second(self):
        """The box's GPUs have no peak in any data sheet: there is no MFU, and the report says why."""
        page = self.folder / "page.html"
        asked = ["--samples-per-step", 64, "--params", "1.5M", "--tokens-per-sample", 100]
        done = box.run([box.BUILD / "gpushim", "report", "--json", "--html", page, self.folder,
                        *asked], sim=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("TFLOP/s per GPU", page.read_text(encoding="utf-8"))
        report = json.loads(done.stdout)
        truth = 64 * 6 * 1.5e6 * 100 / (report["steps"]["mean_ns"] * 1e-9) / self.RANKS / 1e12
        self.assertEqual(report["flops"]["gpus"], self.RANKS)
        self.assertAlmostEqual(report["flops"]["tflops_per_gpu"] / truth, 1, places=6)
        self.assertIsNone(report["flops"]["mfu"])
        self.assertEqual(list(cli.without_reason(report)), [])
        stored = self.ask("SELECT name, value, why FROM metric WHERE name IN ('mfu', 'tflops_per_gpu')")
        self.assertTrue(all(value is None and "flops-per-sample" in why for _, value, why in stored), stored)
        both = [box.BUILD / "gpushim", "report", self.folder, *asked, "--flops-per-sample", "1e9"]
        self.assertIn("not both", box.run(both, sim=False).stderr)

    def test_no_key_is_null_without_a_reason(self):
        done = box.run([box.BUILD / "gpushim", "report", "--json", self.folder, "--params", self.FLOATS,
                        "--samples-per-step", 64], sim=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        report = json.loads(done.stdout)
        for key in ("ledger", "trust", "steps", "phases", "gpus", "streams", "launch", "copies", "kernels",
                    "collectives", "allreduce_check", "skew"):
            self.assertIn(key, report)
        self.assertEqual(list(cli.without_reason(report)), [])

    def test_bytes_fit_the_parameters(self):
        found = self.ask("SELECT params_implied, bytes_per_step, calls_per_step FROM allreduce_check")
        self.assertEqual(found, [(self.FLOATS, 4 * self.FLOATS, 1)])


class Graphs(Program):
    def test_kernels_in_graphs_are_counted_as_often_as_they_ran(self):
        base = self.analysed("graph", {}, steps=1000)
        rows = base.execute("SELECT sum(graph_launches), count(*) FROM kernel WHERE name LIKE 'node%'")
        self.assertEqual(rows.fetchall(), [(100_000, 4)])


class Running(Program):
    """A job that still runs."""

    def test_what_is_there_is_analysed_and_the_job_goes_on(self):
        """On a busy machine a job may be over before it was looked at three times: then a longer one's turn
        comes."""
        counts = next(filter(None, map(self.steps_seen, (3_000, 10_000, 30_000))), [0])
        self.assertGreater(counts[0], 0)
        self.assertEqual(counts, sorted(counts))

    def steps_seen(self, steps):
        """By three looks while the job runs; none: it was over before the last of them."""
        knobs = {"LD_PRELOAD": box.BUILD / "libgpushim.so", "GPUSHIM_OUT": self.folder / f"{steps}.db"}
        job = subprocess.Popen(["python3", WORKLOADS, "healthy", str(steps)], env=box.environment(knobs))
        try:
            self.wait_for_rows(job, knobs["GPUSHIM_OUT"])
            counts = [self.steps_of(knobs["GPUSHIM_OUT"]) for _ in range(3)]
            was_running = job.poll() is None
            self.assertEqual(job.wait(PATIENCE_S), 0)
        finally:
            job.kill()
            job.wait()
        return counts if was_running else []

    def steps_of(self, trace):
        run = self.folder / "run.db"
        done = box.run([box.BUILD / "gpushim", "analyze", trace, "-o", run], sim=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with sqlite3.connect(run) as base:
            (count,), = base.execute("SELECT count(*) FROM step")
        base.close()
        return count

    def wait_for_rows(self, job, trace):
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline and job.poll() is None:
            time.sleep(0.1)
            done = box.run([box.BUILD / "gpushim", "sql", "--csv", trace, "SELECT count(*) > 50 FROM marker"],
                           sim=False)
            if done.stdout.split()[-1:] == ["1"]:
                return
        self.assertIsNotNone(job.poll(), "no rows came")


def add_cases():
    for name in WRONG:
        def case(self, name=name):
            self.held_to(name)
        setattr(Answer, f"test_{name}", case)


add_cases()


class EnergyOfAStep(cli.Case):
    """The box's boards draw 70 W, and 400 W more while their GPU is busy; so the counter is known."""

    def test_a_step_takes_what_the_box_makes_it_take(self):
        answered.run_ranks(self.folder, 2, 400, "AllReduce", 1_000_000, {"GPUSIM_POWER_W": 470})
        answered.analysed(self.folder).close()
        report = json.loads(box.run([box.BUILD / "gpushim", "report", "--json", "--samples-per-step", 64,
                                     self.folder / "run.db"], sim=False).stdout)
        self.assertEqual(list(cli.without_reason(report)), [])
        step_s = report["steps"]["median_ns"] * 1e-9
        self.assertEqual(len(report["energy"]["gpus"]), 2)
        for gpu, known in zip(report["energy"]["gpus"], report["gpus"]):
            truth = (70 + 400 * (1 - known["idle_share"])) * step_s
            self.assertAlmostEqual(gpu["joules_per_step"] / truth, 1, delta=0.03)
            self.assertEqual(gpu["power_limit_w"], 700)
        whole = sum(gpu["joules_per_step"] for gpu in report["energy"]["gpus"])
        self.assertAlmostEqual(report["energy"]["joules_per_sample"], whole / 64, places=9)
