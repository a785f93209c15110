"""gpushim import kineto: the steps of a trace, and of graphs that were launched in it."""
import json

import importing
import kineto_made


class Steps(importing.Import):
    def repeating(self, last_kernel):
        trace = kineto_made.Trace()
        for at in range(0, 20 * 1_000_000, 1_000_000):
            trace.operation("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", at + 20_000, 10_000, 7,
                            trace.call("cudaMemcpyAsync", at + 10_000, 4000), bytes=4096)
            for place, name in enumerate(("gemm", "softmax", last_kernel)):
                trace.kernel(name, at + 40_000 + place * 10_000, at + 100_000 + place * 200_000, 180_000)
        self.imported(trace.write(self.folder / "t.json.gz"))
        return " ".join(self.gpushim("report", self.folder / "run.db").stdout.split())

    def test_what_repeats_without_a_mark_may_be_a_part_of_a_step(self):
        may_be = "steps are what repeats, and nothing marks them: each may be a part of one, such as a layer"
        said = self.repeating("add")
        self.assertIn("STEP 1.00 ms", said)
        self.assertIn(may_be, said)
        said = self.repeating("void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>>()")
        self.assertIn("STEP 1.00 ms", said)
        self.assertNotIn(may_be, said)

    def test_a_servers_iterations_are_told_by_what_its_host_reads(self):
        said = self.repeating("paged_attention_v2_kernel")
        self.assertIn("it serves", said)
        self.assertNotIn("nothing marks them", said)

    def test_one_iteration_is_where_it_ran(self):
        """All of it was called 5 ms before it ran."""
        trace = kineto_made.Trace()
        for at in range(1_000_000, 1_100_000, 10_000):
            trace.kernel("paged_attention_v2_kernel", at, at * 10 - 4_000_000, 100_000)
        trace.operation("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 7_000_000, 2_000, 7,
                        trace.call("cudaMemcpyAsync", 1_200_000, 5_810_000), bytes=8)
        run = self.imported(trace.write(self.folder / "t.json.gz"))
        self.assertEqual(self.rows("SELECT dur_ns FROM step", run), [(1_002_000,)])

    def test_an_iteration_that_holds_little_is_no_step(self):
        """Two iterations were recorded, and of the second one's end nothing tells. Where most ran in it, the
        first says nothing of the rest."""
        for first, second, source in ((50_000, 900_000, "none"), (900_000, 500_000, "detected")):
            trace = kineto_made.Trace()
            at = 1_000_000
            for length in (first, second):
                trace.kernel("paged_attention_v2_kernel", at, at + 10_000, length)
                trace.operation("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", at + 10_000 + length, 2_000,
                                7, trace.call("cudaMemcpyAsync", at + 20_000, length), bytes=8)
                trace.call("cudaStreamSynchronize", at + 25_000 + length, 2_000)
                at += 100_000 + length
            run = self.imported(trace.write(self.folder / "t.json.gz"))
            self.assertEqual(self.rows("SELECT kind FROM program", run), [("serving",)])
            self.assertEqual(self.rows("SELECT steps_source FROM rank", run), [(source,)])

    def test_phases_that_ranges_do_not_name_lie_beside_them(self):
        """loader | h forward | gradients on another thread | optimizer, whose kernels have no names: as new
        files tell, and as old ones do, among operators."""
        for category in ("user_annotation", "Operator"):
            trace = kineto_made.Trace()
            for number, at in enumerate(range(0, 6_000_000, 1_000_000)):
                trace.step(number, at, 1_000_000)
                for name, begin, length in (("enumerate(DataLoader)#_Iter.__next__", 10_000, 90_000),
                                            ("Optimizer.zero_grad#SGD.zero_grad", 300_000, 20_000),
                                            ("Optimizer.step#SGD.step", 600_000, 100_000)):
                    trace.add(category, name, at + begin, length, kineto_made.PID, kineto_made.TID)
                trace.operation("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", at + 120_000, 30_000, 7,
                                trace.call("cudaMemcpyAsync", at + 110_000, 4000), bytes=4096)
                trace.kernel("implicit_convolve_sgemm", at + 200_000, at + 210_000, 80_000)
                trace.kernel("dgrad_engine", at + 400_000, at + 410_000, 150_000)
                trace.events[-2]["tid"] = 99
                trace.kernel("vectorized_elementwise_kernel<4>", at + 620_000, at + 630_000, 40_000)
            run = self.imported(trace.write(self.folder / f"{category}.json.gz"))
            with self.subTest(category):
                self.assertEqual(
                    self.rows("SELECT name, p.begin_ns - s.begin_ns, p.dur_ns, device_ns, p.confidence "
                              "FROM phase p JOIN step s USING (rank_id, step) WHERE step = 2 "
                              "ORDER BY p.begin_ns", run),
                    [("input", 10_000, 90_000, 0, 1.0), ("input", 100_000, 100_000, 30_000, 0.8),
                     ("forward", 200_000, 200_000, 80_000, 0.9), ("backward", 400_000, 200_000, 150_000, 0.9),
                     ("optimizer", 600_000, 100_000, 40_000, 1.0)])

    def test_kernels_of_a_graph_are_one_launch(self):
        trace = kineto_made.Trace()
        trace.graph(1_000_000, range(1_010_000, 2_010_000, 25_000), 24_000, 77)
        run = self.imported(trace.write(self.folder / "t.json.gz"))
        self.assertEqual(self.rows("SELECT steps_source FROM rank", run), [("none",)])
        self.assertEqual(self.rows("SELECT sum(count) FROM launch_stat", run), [(1,)])
        self.assertEqual(self.rows("SELECT sum(launches) FROM kernel", run), [(40,)])
        busy, known = self.rows("SELECT sum(CASE WHEN classes > 0 THEN ns END), sum(ns) FROM activity",
                                run)[0]
        self.assertEqual((busy, known), (40 * 24_000, 1_009_000))  # from its launch to the end of the last

    def graphs(self, between):
        """Of 20 graphs of nine nodes, so long apart: idle time by cause, and the report."""
        trace = kineto_made.Trace()
        for number in range(20):
            at = 1_000_000 + number * 1_000_000
            trace.step(number, at, 1_000_000)
            trace.graph(at, range(at + 10_000, at + 900_000, 100_000), 100_000 - between, 77 + number)
        run = self.imported(trace.write(self.folder / "t.json.gz"))
        report = json.loads(self.gpushim("report", self.folder / "run.db", "--json").stdout)
        self.assertNotIn("launch_bound", [finding["id"] for finding in report["findings"]])
        return dict(self.rows("SELECT cause, sum(ns) FROM gap GROUP BY cause", run)), report

    def test_gaps_between_the_nodes_of_a_graph_are_the_gpus_own(self):
        """Whatever the host does: launching less would not close them."""
        gaps, report = self.graphs(8_000)
        self.assertEqual(gaps["graph_gap"], 20 * 8 * 8_000)
        self.assertNotIn("kernel_gap", gaps)
        self.assertNotIn("nothing recorded ran", " ".join(report["verdict"]["evidence"]))

    def test_a_long_gap_in_a_graph_is_not_the_gpus_own(self):
        """A node may wait for a function of the host, or an event, in the graph: no profile tells."""
        gaps, report = self.graphs(40_000)
        self.assertEqual(gaps["device_other"], 20 * 8 * 40_000)
        self.assertNotIn("graph_gap", gaps)
        self.assertIn("of the time work was queued and nothing recorded ran",
                      " ".join(report["verdict"]["evidence"]))

    def test_work_from_before_the_trace_has_no_latency(self):
        trace = kineto_made.Trace()
        for number in range(10):
            at = 1_000_000 + number * 1_000_000
            trace.kernel("before", None, at, 200_000)
            trace.kernel("called", at + 300_000, at + 307_000, 200_000)
        run = self.imported(trace.write(self.folder / "t.json.gz"))
        self.assertEqual(self.rows("SELECT latency_ns FROM gpu", run), [(7_000,)])
        self.assertEqual(self.rows("SELECT timed, on_empty, latency_p50_ns FROM launch_stat", run),
                         [(10, 10, 7_000)])
        said = self.gpushim("report", self.folder / "run.db").stdout
        self.assertIn("all operations timed by PyTorch's profiler (Kineto)", said)

    def test_steps_of_launches_of_a_graph_are_found(self):
        trace = kineto_made.Trace()
        for step in range(12):
            at = 1_000_000 + step * 2_000_000
            trace.operation("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", at + 5_000, 10_000, 7,
                            trace.call("cudaMemcpyAsync", at, 3_000), bytes=4096)
            trace.graph(at + 20_000, range(at + 30_000, at + 1_030_000, 25_000), 24_000,
                       5_000_000 + step)
            trace.call("cudaStreamSynchronize", at + 40_000, 1_000_000)
        run = self.imported(trace.write(self.folder / "t.json.gz"))
        self.assertEqual(self.rows("SELECT DISTINCT dur_ns FROM step WHERE left_out = 0", run),
                         [(2_000_000,)])

    def test_a_device_is_known_from_when_its_first_work_was_not_waiting(self):
        """Its first kernel was called 8 ms before: what ran until then the trace does not show. But where the
        device was set up for 2 s before, it is the first one."""
        for setting_up, waited, known in ((0, 8_000_000, 2_000_000), (0, 500_000, 2_500_000),
                                          (2_000_000_000, 8_000_000, 2_010_000_000)):
            trace = kineto_made.Trace()
            if setting_up:
                trace.call("cudaFree", 1_000_000 - setting_up, setting_up)
            trace.kernel("first", 1_000_000, 1_000_000 + waited, 1_000_000)
            trace.kernel("second", 1_010_000, 2_000_000 + waited, 1_000_000)
            run = self.imported(trace.write(self.folder / "t.json.gz"))
            self.assertEqual(self.rows("SELECT sum(ns) FROM activity", run), [(known,)])

    def test_a_gpu_that_did_nothing_in_steps_is_in_no_figure_of_them(self):
        """Its work before them is as much as a step's, and no step."""
        trace = kineto_made.Trace()
        for kernel in range(10):
            trace.kernel("gemm", 500_000 + kernel * 10_000, 520_000 + kernel * 40_000, 40_000)
            trace.events[-1]["args"].update(device=1, context=2, stream=8)
        for number in range(6):
            at = 1_000_000 + number * 1_000_000
            trace.step(number, at, 1_000_000)
            for kernel in range(10):
                trace.kernel("gemm", at + 10_000 + kernel * 10_000, at + 40_000 + kernel * 60_000, 60_000)
        run = self.imported(trace.write(self.folder / "t.json.gz"))
        self.assertEqual(self.rows("SELECT outside_steps FROM rank", run), [(0,)])
        apart = self.rows("SELECT u.gpu_id <> t.gpu_id FROM v_unused_gpu u, v_gpu_total t", run)
        self.assertEqual(apart, [(1,)])
        report = json.loads(self.gpushim("report", self.folder / "run.db", "--json").stdout)
        self.assertEqual([kernel["per_step_ns"] for kernel in report["kernels"]], [600_000])
        idle = {gpu["gpu_id"]: gpu["idle_share"] for gpu in report["gpus"]}
        self.assertEqual(sorted(idle.values(), key=str), [0.4, None])
        self.assertIn("nothing ran on it in steps", str([gpu["why"] for gpu in report["gpus"]]))
        self.assertIn("compute 60.0 %", self.gpushim("report", self.folder / "run.db").stdout)
        both = [self.folder / "run.db"] * 2
        self.assertIn("launches a step 10.0, was 10.0", self.gpushim("compare", *both, expect=None).stdout)

    def test_of_collectives_without_bytes_nothing_is_said_to_be_none(self):
        trace = kineto_made.Trace(0, 8)
        for number in range(4):
            at = 1_000_000 + number * 1_000_000
            trace.step(number, at, 1_000_000)
            trace.kernel(kineto_made.COLLECTIVE, at + 20_000, at + 280_000, 700_000, 20)
        run = self.imported(trace.write(self.folder / "t.json.gz"))
        self.assertEqual(self.rows("SELECT why FROM allreduce_check", run),
                         [("how much collectives moved is not recorded",)])

    def layers(self, around, kernel="layer"):
        trace = kineto_made.Trace()
        trace.add("user_annotation", "execute", 1_000_000, around, kineto_made.PID, kineto_made.TID)
        for layer in range(20):
            at = 1_100_000 + layer * 1_000_000
            trace.operation("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", at + 5_000, 10_000, 7,
                            trace.call("cudaMemcpyAsync", at, 3_000), bytes=4096)
            trace.kernel(kernel, at + 10_000, at + 20_000, 900_000)
        return self.imported(trace.write(self.folder / "t.json.gz"))

    def test_one_range_around_everything_is_one_step(self):
        run = self.layers(21_000_000)
        self.assertEqual(self.rows("SELECT dur_ns FROM step", run), [(21_000_000,)])
        self.assertIn("one step was recorded", self.rows("SELECT steps_why FROM rank", run)[0][0])
        # Not if work runs on behind it, nor around the steps of a training.
        self.assertEqual(self.rows("SELECT count(*) > 10 FROM step", self.layers(10_000_000)), [(1,)])
        self.assertEqual(self.rows("SELECT count(*) > 10 FROM step", self.layers(21_000_000, "sgd_step")),
                         [(1,)])

    def copies_and_then(self, kernel_ns, each_kernel_ns=0):
        """30 copies 12 us apart, each with a kernel behind it if one is given, and then one long kernel."""
        trace = kineto_made.Trace()
        trace.call("cudaMalloc", 1_000_000, 20_000_000)
        for at in range(21_000_000, 21_000_000 + 30 * 12_000, 12_000):
            trace.operation("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 2_000, 3_000, 7,
                            trace.call("cudaMemcpyAsync", at, 5_000), bytes=60_000)
            if each_kernel_ns:
                trace.kernel("advance", at + 5_500, at + 6_000, each_kernel_ns)
        trace.kernel("simulate", 21_400_000, 21_410_000, kernel_ns)
        trace.call("cudaDeviceSynchronize", 21_410_000, kernel_ns)
        run = self.imported(trace.write(self.folder / "t.json.gz"))
        report = json.loads(self.gpushim("report", self.folder / "run.db", "--json").stdout)
        return self.rows("SELECT steps_source, steps_why FROM rank", run)[0], report

    def test_what_repeats_is_no_step_if_gpus_did_next_to_nothing_in_it(self):
        """Copies of a start are none; a loop with kernels is one, though a start took most of the run."""
        (source, why), report = self.copies_and_then(20_000_000)
        self.assertEqual(source, "none")
        self.assertIn("next to nothing of what GPUs did", why)
        self.assertEqual([found["id"] for found in report["findings"] if found["kind"] == "gain"], [])
        self.assertEqual(self.copies_and_then(100_000, 4_000)[0][0], "detected")
        self.assertEqual(self.copies_and_then(200_000_000, 4_000)[0][0], "none")

    def test_copies_without_a_kernel_wait_for_no_launches(self):
        trace = kineto_made.Trace()
        for at in range(1_000_000, 1_000_000 + 60 * 12_000, 12_000):
            trace.operation("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 9_000, 3_000, 7,
                            trace.call("cudaMemcpyAsync", at, 12_000), bytes=60_000)
        run = self.imported(trace.write(self.folder / "t.json.gz"))
        self.assertEqual(self.rows("SELECT steps_source FROM rank", run), [("detected",)])
        self.assertEqual(self.rows("SELECT id FROM finding WHERE id = 'launch_bound'", run), [])

    def test_copies_whose_size_is_not_told_have_no_rate(self):
        trace = kineto_made.Trace()
        for number in range(6):
            at = 1_000_000 + number * 1_000_000
            trace.step(number, at, 1_000_000)
            trace.operation("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 5_000, 400_000, 7,
                            trace.call("cudaMemcpyAsync", at, 405_000))
            trace.kernel("gemm", at + 410_000, at + 420_000, 500_000)
        run = self.imported(trace.write(self.folder / "t.json.gz"))
        title = self.rows("SELECT title FROM finding WHERE id = 'pageable_copies'", run)[0][0]
        self.assertIn("size is not recorded", title)
        self.assertNotIn("0 B", title)

    def test_transfers_of_ranks_that_are_not_there_are_a_finding_of_their_own(self):
        trace = kineto_made.Trace(0, 8)
        for number in range(4):
            at = 1_000_000 + number * 1_000_000
            trace.step(number, at, 1_000_000)
            trace.kernel("gemm", at + 10_000, at + 20_000, 250_000)
            trace.kernel(kineto_made.COLLECTIVE, at + 20_000, at + 280_000, 700_000, 20,
                         **kineto_made.NCCL_ARGUMENTS)
        run = self.imported(trace.write(self.folder / "t.json.gz"))
        found = self.rows("SELECT id, gain_low_ns, gain_high_ns, title FROM finding ORDER BY place", run)[0]
        self.assertEqual(found[:3], ("exposed_communication", 0, 700_000))
        self.assertIn("is not known", found[3])

    def test_copies_that_fill_the_time_are_a_finding_without_steps(self):
        for length, found in ((900_000, [("copy_volume",)]), (400_000, [])):
            trace = kineto_made.Trace()
            at = 1_000_000
            for number in range(30):  # no two alike
                trace.operation("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", at + 5_000, length, 7,
                                trace.call("cudaMemcpyAsync", at, 3_000), bytes=20_000_000 + number ** 3)
                trace.kernel(f"gemm_{number}", at + 10_000, at + 5_000 + length, 1_000_000 - length)
                at += 1_000_000 + number
            run = self.imported(trace.write(self.folder / "t.json.gz"))
            self.assertEqual(self.rows("SELECT id FROM finding WHERE kind = 'gain'", run), found)
            report = json.loads(self.gpushim("report", self.folder / "run.db", "--json").stdout)
            self.assertEqual(report["gains_per"], "second")
