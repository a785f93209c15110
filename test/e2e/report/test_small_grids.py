"""Grids with fewer blocks than the GPU has multiprocessors: how many it has, from each source, and what is
said where a source does not tell."""
import json
import sqlite3

import cli
import kineto_made
import nsys_made

KERNEL_SHARE = "; small grids "


class SmallGrids(cli.Case):
    def answer(self, *words):
        return json.loads(self.gpushim("report", *words, "--json").stdout)

    def devices(self, trace):
        with sqlite3.connect(trace) as base:
            rows = base.execute("SELECT multiprocessors, compute_capability FROM device").fetchall()
        base.close()
        return rows

    def small(self, answer):
        return {kernel["name"]: (kernel["timed"], kernel["small_grid"], kernel["small_grid_ns"])
                for kernel in answer["kernels"]}

    def one_trace(self):
        done = self.traced(cli.LINKED, pattern="a.db", GPUSIM_CLOCK="stepped", GPUSHIM_BUDGET="100%",
                           GPUSHIM_DEVICE_TIME="events")
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.folder / "a.db"

    def metric(self, trace):
        self.gpushim("analyze", trace, "-o", self.folder / "run.db")
        return self.gpushim("sql", self.folder / "run.db",
                            "SELECT value FROM metric WHERE name = 'small_grid_share'", "--csv").stdout

    def test_of_the_driver(self):
        trace = self.one_trace()
        self.assertEqual(self.devices(trace), [(132, "9.0")])
        answer = self.answer(trace)
        kernels = [kernel for kernel in answer["kernels"] if kernel["timed"] > 0]
        self.assertTrue(kernels)
        for kernel in kernels:  # one block each
            self.assertEqual((kernel["small_grid"], kernel["small_grid_ns"]),
                             (kernel["timed"], kernel["sum_ns"]))
        self.assertEqual(answer["kernel_classes"]["small_grid_share"], 1.0)
        self.assertEqual(self.metric(trace), "value\n1\n")
        self.assertIn(f"{KERNEL_SHARE}100 %\n", self.gpushim("report", trace).stdout)

    def test_of_a_trace_that_does_not_say(self):
        """Such as the library made before it asked."""
        trace = self.one_trace()
        with sqlite3.connect(trace) as base:
            for column in ("multiprocessors", "compute_capability"):
                base.execute(f"ALTER TABLE device RENAME COLUMN {column} TO no_{column}")
        base.close()
        answer = self.answer(trace)
        self.assertEqual({kernel["small_grid"] for kernel in answer["kernels"]}, {None})
        self.assertIn("the number of the GPU's multiprocessors", answer["kernel_classes"]["why"])
        self.assertEqual(self.metric(trace), "value\n\n")
        self.assertNotIn(KERNEL_SHARE, self.gpushim("report", trace).stdout)

    def imported(self, source, file):
        run = self.folder / "run.db"
        self.gpushim("import", source, file, "-o", run, "--keep-traces", self.folder / "traces")
        (trace,) = (self.folder / "traces").glob("*.db")
        return self.devices(trace), self.answer(run)

    def test_of_kineto(self):
        trace = kineto_made.Trace()
        trace.kernel("gemm", 0, 10_000, 50_000, 7)  # 16 blocks
        trace.kernel(kineto_made.COLLECTIVE, 0, 100_000, 30_000, 20)
        devices, answer = self.imported("kineto", trace.write(self.folder / "t.json.gz"))
        self.assertEqual(devices, [(108, "8.0")])
        self.assertEqual(self.small(answer), {"gemm": (1, 1, 50_000), kineto_made.COLLECTIVE: (1, 0, 0)})

    def test_of_nsys(self):
        devices, answer = self.imported("nsys", nsys_made.program(self.folder / "a.sqlite", nsys_made.NEW))
        self.assertEqual(devices, [(8, "9.0")])
        # 8 blocks on 8 multiprocessors.
        self.assertEqual(self.small(answer)["void gemm<float>(float*)"], (1, 0, 0))

    def test_of_an_old_export(self):
        devices, answer = self.imported("nsys", nsys_made.program(self.folder / "a.sqlite", nsys_made.OLD))
        self.assertEqual(devices, [(None, None)])
        self.assertEqual(self.small(answer)["void gemm<float>(float*)"], (1, None, None))
