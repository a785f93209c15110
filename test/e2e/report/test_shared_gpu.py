"""Two processes on one GPU of the box, against what the box knows of them."""
import json
import sqlite3
import unittest

import box
import in_memory
from test_answer import STEPPED, STEPS, WORKLOADS

# Both begin at the same time by the box's clock. One idles for 3 ms in each step, where the other goes on.
RANKS = ("host_cpu", "healthy")


class SharedGpu(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = in_memory.folder_of(cls)
        ranks = " ".join(f"RANK={rank} LOCAL_RANK={rank} python3 {WORKLOADS} {name} {STEPS} &"
                         for rank, name in enumerate(RANKS))
        done = box.run(["sh", "-c", f"{ranks} wait"],
                       {**STEPPED, "WORLD_SIZE": len(RANKS), "GPUSHIM_BUDGET": "100%",
                        "LD_PRELOAD": box.BUILD / "libgpushim.so", "GPUSHIM_OUT": cls.folder / "%r.db",
                        "GPUSIM_TRUTH": cls.folder / "truth.%r"})
        if done.returncode or done.stderr:
            raise RuntimeError(done.stderr)
        cls.report = cls.gpushim("report", cls.folder)
        cls.json = json.loads(cls.gpushim("report", "--json", cls.folder))

    @classmethod
    def gpushim(cls, *words):
        done = box.run([box.BUILD / "gpushim", *words], sim=False)
        if done.returncode or done.stderr:
            raise RuntimeError(done.stderr)
        return done.stdout

    def ask(self, sql):
        with sqlite3.connect(self.folder / "gpushim.run.db") as base:
            rows = base.execute(sql).fetchall()
        base.close()
        return rows

    def truth(self, from_ns):
        """Busy of both together, of each, and of the time in which neither was, who came next."""
        ran = sorted((max(op.start_ns, from_ns), op.end_ns, rank) for rank in range(len(RANKS))
                     for op in box.read_truth(self.folder / f"truth.{rank}")
                     if op.op in ("kernel", "h2d", "d2h", "d2d", "memset") and op.end_ns > from_ns)
        together, ended, at_ns = 0, [0, 0], from_ns
        each, until = [0, 0], [0, 0]
        for start_ns, end_ns, rank in ran:
            ended[rank] += max(0, start_ns - at_ns)
            together += max(0, end_ns - max(start_ns, at_ns))
            each[rank] += max(0, end_ns - max(start_ns, until[rank]))
            at_ns, until[rank] = max(at_ns, end_ns), max(until[rank], end_ns)
        return together, each, ended

    def test_it_is_busy_when_one_of_them_is(self):
        rows = self.ask("SELECT known_ns, union_ns, busy_ns, next_own_ns, other_process_ns, tail_ns,"
                        " processes, shared_id FROM shared_gpu ORDER BY gpu_id")
        self.assertEqual([row[6:] for row in rows], [(2, 0), (2, 0)])
        # The very first operations have no device times.
        end_ns, length_ns = self.ask("SELECT max(last_ns), max(last_ns) - min(first_ns) FROM rank")[0]
        self.assertGreater(rows[0][0], 0.98 * length_ns)
        together, each, ended = self.truth(end_ns - rows[0][0])
        for rank, (known, union, busy, own, other, tail, _, _) in enumerate(rows):
            said = f"{rank}: {rows}, in truth {together}, {each}, {ended}"
            self.assertEqual(union + own + other + tail, known)
            self.assertAlmostEqual(union / together, 1, delta=0.01, msg=said)
            self.assertAlmostEqual(busy / each[rank], 1, delta=0.01, msg=said)
            self.assertAlmostEqual(own / ended[rank], 1, delta=0.02, msg=said)
            self.assertAlmostEqual(other / ended[1 - rank], 1, delta=0.02, msg=said)

    def test_what_ran_at_the_same_time_is_said(self):
        end_ns = self.ask("SELECT max(last_ns) FROM rank")[0][0]
        gpu = self.json["shared_gpus"][0]
        together, each, _ = self.truth(end_ns - gpu["window_ns"])
        self.assertGreater(sum(each) - together, 0.05 * gpu["window_ns"])
        self.assertAlmostEqual(gpu["beside_ns"] / (sum(each) - together), 1, delta=0.05)
        self.assertIn("    kernels of several processes at a time: ", self.report)

    def test_the_report_says_so_and_counts_it_once(self):
        self.assertIn(" 1 x Simulated GPU\n", self.report)
        self.assertIn("  2 processes on GPU-", self.report)
        shared = self.json["shared_gpus"]
        self.assertEqual([len(gpu["processes"]) for gpu in shared], [2])
        self.assertEqual(shared[0]["gpu"], self.json["gpus"][0]["gpu"])
        longest = max(gpu["window_ns"] for gpu in self.json["gpus"])
        self.assertLess(self.json["cost"]["gpu_ns"], 1.2 * longest)
        self.assertAlmostEqual(self.json["cost"]["idle_gpu_ns"] / self.json["cost"]["gpu_ns"],
                               1 - shared[0]["busy_share"], delta=0.001)

    def test_gpus_of_their_own_are_not_merged(self):
        """In test_answer.py eight ranks have a GPU each; here one of the two is moved to another host."""
        with sqlite3.connect(self.folder / "1.db") as base:
            boot = base.execute("SELECT value FROM meta WHERE key = 'boot_id'").fetchone()[0]
            base.execute("UPDATE meta SET value = 'another' WHERE key = 'boot_id'")
        base.close()
        run = self.folder / "apart" / "run.db"
        run.parent.mkdir()
        try:
            self.gpushim("analyze", self.folder / "0.db", self.folder / "1.db", "-o", run)
        finally:
            with sqlite3.connect(self.folder / "1.db") as base:
                base.execute("UPDATE meta SET value = ? WHERE key = 'boot_id'", (boot,))
            base.close()
        with sqlite3.connect(run) as base:
            self.assertEqual(base.execute("SELECT count(*) FROM shared_gpu").fetchone()[0], 0)
        base.close()
