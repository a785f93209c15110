"""gpushim import kineto: steps whose work runs on behind what launched it."""
import json

import importing
import kineto_made


class Ahead(importing.Import):
    def test_steps_are_where_their_work_ran_if_the_host_is_ahead(self):
        """The host takes 1 ms for a step, the device 2 ms."""
        trace = kineto_made.Trace()
        for number in range(4):
            at, runs = 1_000_000 + number * 1_000_000, 1_020_000 + number * 2_000_000
            trace.step(number, at, 1_000_000)
            for kernel in range(10):
                trace.kernel("gemm", at + 10_000 + kernel * 5_000, runs + kernel * 200_000, 195_000)
        run = self.imported(trace.write(self.folder / "t.json.gz"))
        self.assertEqual(self.rows("SELECT number, dur_ns FROM step", run),
                         [(0, 2_000_000), (1, 2_000_000), (2, 2_000_000), (3, 1_995_000)])
        self.assertIn("ahead", self.rows("SELECT steps_why FROM rank", run)[0][0])

    def test_steps_are_where_their_work_ran_if_the_device_falls_behind(self):
        """Two steps of 1 ms on the host, for which the device takes 1.25 ms each. Not if it waits for the
        host between them."""
        for second, lengths in ((0, [1_250_000, 1_245_000]), (100_000, [1_000_000, 1_000_000])):
            trace = kineto_made.Trace()
            for number in range(2):
                at, runs = 1_000_000 + number * 1_000_000, 1_020_000 + number * (1_250_000 + second)
                trace.step(number, at, 1_000_000)
                for kernel in range(5):
                    trace.kernel("gemm", at + 10_000 + kernel * 5_000, runs + kernel * 250_000, 245_000)
            run = self.imported(trace.write(self.folder / "t.json.gz"))
            self.assertEqual([row[0] for row in self.rows("SELECT dur_ns FROM step ORDER BY number", run)],
                             lengths)

    def test_steps_that_nothing_marks_are_where_their_work_ran(self):
        """The host launches 200 steps of two kernels in 20 us each, and waits at the end. The device takes
        100 us for each, also of a program that serves and reads nothing between them."""
        for kernel in ("force", "paged_attention_v2_kernel"):
            trace = kineto_made.Trace()
            for number in range(200):
                at, runs = 1_000_000 + number * 20_000, 1_020_000 + number * 100_000
                trace.kernel(kernel, at, runs, 60_000)
                trace.kernel("integrate", at + 10_000, runs + 60_000, 39_000)
            trace.call("cudaDeviceSynchronize", 5_000_000, 16_020_000)
            run = self.imported(trace.write(self.folder / "t.json.gz"))
            lengths = self.rows("SELECT DISTINCT dur_ns FROM step WHERE left_out = 0", run)
            self.assertEqual(lengths, [(100_000,)] if kernel == "force" else [(19_999_000,)])

    def test_a_batch_that_is_brought_meanwhile_begins_no_step(self):
        """The host takes 10 ms for a step and the device 12; a stream of its own copies the next batch as
        soon as the host asks for it."""
        trace = kineto_made.Trace()
        for number in range(5):
            at, runs = 1_000_000 + number * 10_000_000, 1_500_000 + number * 12_000_000
            trace.step(number, at, 10_000_000)
            trace.operation("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", at + 20_000, 500_000, 20,
                            trace.call("cudaMemcpyAsync", at + 10_000, 3_000), bytes=1 << 20)
            for kernel in range(10):
                trace.kernel("gemm", at + 100_000 + kernel * 5_000, runs + kernel * 1_200_000, 1_195_000)
        run = self.imported(trace.write(self.folder / "t.json.gz"))
        self.assertEqual([row[0] for row in self.rows("SELECT dur_ns FROM step ORDER BY number", run)],
                         [12_000_000] * 4 + [11_995_000])

    def test_all_of_a_graph_belongs_to_the_step_that_launched_it(self):
        """One step of 1 ms on the host, whose graph runs for 10 ms; and five, of a graph each."""
        for steps, lengths in ((1, [10_820_000]), (5, [10_800_000] * 4 + [10_799_000])):
            trace = kineto_made.Trace()
            for number in range(steps):
                at, runs = 1_000_000 + number * 1_000_000, 1_020_000 + number * 10_800_000
                trace.step(number, at, 1_000_000)
                trace.graph(at + 10_000, range(runs, runs + 10_800_000, 1_080_000),
                           1_080_000 if steps == 1 else 1_079_000, 5_000_000 + number)
            run = self.imported(trace.write(self.folder / "t.json.gz"))
            self.assertEqual([row[0] for row in self.rows("SELECT dur_ns FROM step ORDER BY number", run)],
                             lengths)

    def test_a_step_with_a_little_more_work_is_a_little_longer(self):
        """The host loads for 5 ms of its 10, and launches; no more than half of the work runs behind the
        mark, or a little more."""
        for work, length in ((9_900_000, 14_910_000), (10_100_000, 15_110_000)):
            trace = kineto_made.Trace()
            trace.step(0, 1_000_000, 10_000_000)
            trace.kernel("gemm", 6_000_000, 6_010_000, work)
            run = self.imported(trace.write(self.folder / "t.json.gz"))
            self.assertEqual(self.rows("SELECT dur_ns FROM step", run), [(length,)])

    def test_what_a_step_runs_later_was_called_in_it(self):
        """The host is two steps ahead. In each step of 2 ms: ten kernels, and 4,000 bytes are reduced. What
        runs before the first was called before the trace; one of it is a collective of nobody knows what."""
        trace = kineto_made.Trace(0, 8)
        for kernel in range(10):
            trace.kernel("gemm", None, 1_000_000 + kernel * 200_000, 195_000)
        trace.kernel(kineto_made.COLLECTIVE, None, 1_000_000, 1_900_000, 20)
        for number in range(4):
            at, runs = 1_000_000 + number * 1_000_000, 3_010_000 + number * 2_000_000
            trace.step(number, at, 1_000_000)
            for kernel in range(10):
                trace.kernel("gemm", at + 10_000 + kernel * 5_000, runs + kernel * 200_000, 195_000)
            trace.kernel(kineto_made.COLLECTIVE, at + 90_000, runs, 1_900_000, 20,
                         **{**kineto_made.NCCL_ARGUMENTS, "In msg nelems": 2000, "Out msg nelems": 2000})
            trace.add("cpu_op", "record_param_comms", at + 95_000, 1_000, kineto_made.PID, kineto_made.TID,
                      **{**kineto_made.NCCL_ARGUMENTS, "Collective name": "wait", "In msg nelems": 0,
                         "Out msg nelems": 0, "Group size": 1, "Process Group Ranks": "[]",
                         "External id": 900 + number})
        run = self.imported(trace.write(self.folder / "t.json.gz"))
        self.assertIn("ahead", self.rows("SELECT steps_why FROM rank", run)[0][0])
        self.assertEqual(self.rows("SELECT in_steps, timed_in_steps FROM kernel ORDER BY launches", run),
                         [(4, 4), (40, 40)])
        self.assertEqual(self.rows("SELECT step FROM collective_instance WHERE bytes NOTNULL", run),
                         [(0,), (1,), (2,), (3,)])
        self.assertEqual(self.rows("SELECT outside_steps FROM rank", run), [(0,)])
        self.assertEqual(self.rows("SELECT bytes_per_step, params_implied FROM allreduce_check", run),
                         [(4000, 2000)])
        report = json.loads(self.gpushim("report", self.folder / "run.db", "--json").stdout)
        self.assertEqual({kernel["per_step_ns"] for kernel in report["kernels"]}, {1_900_000, 1_950_000})

    def test_one_step_ends_with_its_work(self):
        """One mark of 10 ms, two kernels beside a collective on another stream, of which 3 ms ran behind it.
        Not if the device is as far behind when it begins."""
        for beyond, is_behind, length in ((3_000_000, False, 13_000_000), (100_000, False, 10_000_000),
                                          (3_000_000, True, 10_000_000)):
            trace = kineto_made.Trace()
            if is_behind:
                trace.kernel("before", None, 600_000, 460_000)
            trace.step(1, 1_000_000, 10_000_000)
            trace.kernel("gemm", 1_010_000, 1_100_000, 6_000_000)
            trace.kernel("gemm", 1_020_000, 7_100_000, 3_900_000 + beyond)
            trace.kernel("void lab::ep::internode::dispatch<8>(int)", 1_030_000, 1_200_000, 9_000_000, 20)
            run = self.imported(trace.write(self.folder / "t.json.gz"))
            self.assertEqual(self.rows("SELECT number, dur_ns FROM step", run), [(1, length)])
            self.assertEqual(self.rows("SELECT sum(in_steps) FROM kernel WHERE name <> 'before'", run),
                             [(3,)])
        self.assertEqual(self.rows("SELECT sum(ns) FROM activity WHERE classes & 2", run), [(9_000_000,)])
