"""gpushim import kineto: the run that is made says what the trace says."""
import errno
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import time

import cli
import importing
import kineto_made


def opened_by_reader(fifo, seconds=60):
    """For writing, as soon as somebody reads it."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return os.fdopen(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK), "wb")
        except OSError as why:
            if why.errno != errno.ENXIO or time.monotonic() > deadline:
                raise
        time.sleep(0.01)


class Kineto(importing.Import):
    def small(self, rank=0):
        """Two steps: a copy, kernels, a collective with its arguments, one that is only a kernel, a wait."""
        trace = kineto_made.Trace(rank)
        for number in (1, 2):
            at = number * 1_000_000
            trace.step(number, at, 900_000)
            trace.operation("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 20_000, 10_000, 7,
                            trace.call("cudaMemcpy", at + 10_000, 40_000), bytes=4096)
            trace.kernel("gemm", at + 60_000, at + 70_000, 100_000)
            trace.kernel(kineto_made.COLLECTIVE, at + 80_000, at + 170_000, 50_000, 20,
                         **kineto_made.NCCL_ARGUMENTS)
            trace.kernel(kineto_made.OLD_COLLECTIVE, at + 90_000, at + 230_000, 50_000, 20)
            trace.kernel("lost", None, at + 300_000, 10_000)
            wait = trace.call("cudaStreamSynchronize", at + 400_000, 100_000)
            trace.operation("cuda_sync", "Stream Sync", at + 400_000, 100_000, 20, wait)
            trace.call("cudaMalloc", at + 520_000, 5_000)
            trace.call("cudaFuncGetAttributes", at + 540_000, 1_000)
        return trace

    def test_files_are_read_at_once_and_stand_in_their_order(self):
        """The first one does not end before the second one was read."""
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one processor: files are read one after the other")
        files = [self.folder / name for name in ("a.json", "b.json")]
        for file in files:
            os.mkfifo(file)
        begun = subprocess.Popen([cli.GPUSHIM, "import", "kineto", *files, "-o", self.folder / "run.db"])
        self.addCleanup(begun.kill)
        texts = [kineto_made.made(seed, 3).text().encode() for seed in (1, 2)]
        with opened_by_reader(files[0]) as first:
            with opened_by_reader(files[1]) as second:
                os.set_blocking(second.fileno(), True)
                second.write(texts[1])
            os.set_blocking(first.fileno(), True)
            first.write(texts[0])
        self.assertEqual(begun.wait(timeout=60), 0)
        run = sqlite3.connect(self.folder / "run.db")
        self.addCleanup(run.close)
        self.assertEqual([pathlib.Path(file).name for file, in self.rows(
            "SELECT file FROM rank ORDER BY rank_id", run)], ["a.json", "b.json"])

    def test_no_process_has_left_anything_of_another_tools_trace(self):
        alone = self.folder / "gpushim"  # without the library, which recovers
        shutil.copy(cli.GPUSHIM, alone)
        trace = self.small().write(self.folder / "t.json.gz")
        done = subprocess.run([alone, "import", "kineto", trace, "-o", self.folder / "run.db"], check=True,
                              stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.stderr, "")

    def test_which_way_a_kernel_of_amds_runtime_copies_its_call_tells(self):
        trace = kineto_made.Trace()
        for i, call in enumerate(("hipMemcpyHtoDAsync", "hipMemcpyDtoHAsync", "hipMemcpyWithStream")):
            at = 100_000 * i
            trace.operation("kernel", "__amd_rocclr_copyBuffer", at + 20_000, 10_000, 7,
                            trace.call(call, at, 5_000))
        self.imported(trace.write(self.folder / "t.json.gz"))
        self.assertEqual(self.rows("SELECT kind FROM v_copy ORDER BY enter_ns"),
                         [("h2d",), ("d2h",), (None,)])

    def test_what_amds_runtime_does_by_kernels_is_copies_and_fills(self):
        trace = kineto_made.Trace()
        names = ("__amd_rocclr_copyBuffer", "__amd_rocclr_copyBufferAligned.kd",
                 "__amd_rocclr_fillBufferAligned", "__amd_rocclr_gwsInit", "Cijk_Ailk_MI16x16x1")
        for i, name in enumerate(names):
            trace.kernel(name, 100_000 * i, 100_000 * i + 20_000, 10_000)
        self.imported(trace.write(self.folder / "t.json.gz"))
        self.assertEqual(self.rows("SELECT count(*), sum(device_dur_ns), sum(bytes) FROM v_copy"),
                         [(2, 20_000, None)])
        self.assertEqual(self.rows("SELECT kernel FROM v_launch ORDER BY 1"),
                         [("Cijk_Ailk_MI16x16x1",), ("__amd_rocclr_gwsInit",)])
        said = self.gpushim("report", self.folder / "run.db").stdout
        self.assertIn("2 in all, sizes not recorded, 10.0 us each", said)
        report = json.loads(self.gpushim("report", self.folder / "run.db", "--json").stdout)
        self.assertEqual([(one["bytes"], one["achieved_bytes_per_s"]) for one in report["copies"]],
                         [(None, None)])

    def test_a_gpu_by_another_number_is_like_those_that_are_described_alike(self):
        trace = self.small()
        for event in trace.events:
            if "device" in event["args"]:
                event["args"]["device"] = 5
        run = self.imported(trace.write(self.folder / "t.json.gz"))
        self.assertEqual(self.rows("SELECT device_id, name, uuid FROM gpu", run), [(5, "Made GPU", None)])
        unlike = json.loads(trace.text())
        unlike["deviceProperties"].append({"id": 1, "name": "Another GPU"})
        (self.folder / "t.json").write_text(json.dumps(unlike))
        run = self.imported(self.folder / "t.json")
        self.assertEqual(self.rows("SELECT name FROM gpu", run), [("",)])

    def test_rows_are_those_of_a_trace_of_ours(self):
        run = self.imported(self.small().write(self.folder / "t.json.gz"))
        self.assertEqual(self.rows("SELECT kernel, dur_ns, device_start_ns - enter_ns, device_dur_ns, "
                                   "stream, "
                                   "grid_x, block_x, shared_bytes, group_id FROM v_launch LIMIT 4"),
                         [("gemm", 2000, 10000, 100000, "0x7", 8, 128, 64, None),
                          (kineto_made.COLLECTIVE, 2000, 90000, 50000, "0x14", 8, 128, 64, 1),
                          (kineto_made.OLD_COLLECTIVE, 2000, 140000, 50000, "0x14", 8, 128, 64, 2),
                          ("lost", None, 0, 10000, "0x7", 8, 128, 64, None)])
        self.assertEqual(self.rows("SELECT kind, source, target, blocking, bytes, dur_ns, device_dur_ns "
                                   "FROM v_copy LIMIT 1"),
                         [("h2d", "pageable", "device", 1, 4096, 40000, 10000)])
        self.assertEqual(self.rows("SELECT a.name, s.dur_ns, h.handle FROM sync s JOIN api a ON a.id = "
                                   "s.api_id "
                                   "JOIN stream t ON t.id = s.stream_id JOIN handle h ON h.id = t.handle_id"),
                         [("cudaStreamSynchronize", 100000, 20)] * 2)
        self.assertEqual(self.rows("SELECT kind, bytes FROM memory"), [(4, None)] * 2)
        self.assertEqual(self.rows("SELECT a.name, a.kind FROM call c JOIN api a ON a.id = c.api_id"),
                         [("cudaFuncGetAttributes", "other")] * 2)
        self.assertEqual(self.rows("SELECT m.kind, n.text, m.dur_ns FROM marker m JOIN name n ON n.id = "
                                   "m.name_id"),
                         [("push", "ProfilerStep#1", None), ("pop", "ProfilerStep#1", 900000),
                          ("push", "ProfilerStep#2", None), ("pop", "ProfilerStep#2", 900000)])
        self.assertEqual(self.rows("SELECT operations, timed, dur_ns FROM \"window\""), [(10, 10, 1_900_000)])
        self.assertEqual(self.rows("SELECT unknown, dropped, recorded FROM v_ledger"), [(0, 0, 24)])
        self.assertEqual(self.rows("SELECT rank, world_size, level FROM rank", run), [(0, 2, "kineto")])
        self.assertEqual(self.rows("SELECT name, coverage, level FROM gpu", run),
                         [("Made GPU", 1.0, "kineto")])
        self.assertEqual(self.rows("SELECT number, dur_ns FROM step", run), [(1, 900000), (2, 900000)])

    def told(self, category, loader):
        """Steps of 1 ms: a loader of 400 us with an operator in it, an operator that launches after 100 us,
        one after 100 us on the way to it; kernels fill what is left."""
        trace = kineto_made.Trace()
        for number in range(1, 5):
            at = number * 1_000_000
            trace.step(number, at, 1_000_000)
            trace.add(category, loader, at, 400_000, kineto_made.PID, kineto_made.TID)
            trace.add("cpu_op", "aten::stack", at + 100_000, 50_000, kineto_made.PID, kineto_made.TID)
            trace.add("cpu_op", "aten::add", at + 400_000, 110_000, kineto_made.PID, kineto_made.TID)
            trace.kernel("add", at + 500_000, at + 505_000, 100_000)
            trace.add("cpu_op", "aten::mul", at + 705_000, 10_000, kineto_made.PID, kineto_made.TID)
            trace.kernel("mul", at + 705_000, at + 710_000, 290_000)
            trace.add("cpu_op", "aten::copy", at, 900_000, kineto_made.PID, 99)  # which launches nothing
        return trace

    def test_what_the_host_was_in_becomes_causes_and_findings(self):
        frame = "torch/utils/data/dataloader.py(628): __next__"
        for category, loader in (("user_annotation", "enumerate(DataLoader)#_Iter.__next__"),
                                 ("Operator", "enumerate(DataLoader)#_Iter.__next__"),
                                 ("python_function", frame)):
            with self.subTest(category):
                run = self.imported(self.told(category, loader).write(self.folder / f"{category}.json.gz"))
                spans = self.rows("SELECT s.inside, s.stage, s.enter_ns, s.dur_ns FROM host_span s "
                                  "JOIN thread t ON t.id = s.thread_id ORDER BY s.enter_ns")
                collates = 5
                self.assertEqual(spans[:5], [(1, None, 1_000_000, 100_000), (1, collates, 1_100_000, 50_000),
                                             (1, None, 1_150_000, 250_000), (3, None, 1_400_000, 110_000),
                                             (3, None, 1_705_000, 10_000)])
                self.assertEqual(len(spans), 20)
                self.assertEqual(self.rows("SELECT stage, sum(ns) FROM input_stage WHERE step BETWEEN 0 AND 3"
                                           " GROUP BY stage", run), [("collates", 4 * 50_000)])
                causes = dict(self.rows("SELECT cause, sum(ns) FROM gap WHERE step BETWEEN 0 AND 3 "
                                        "GROUP BY cause", run))
                self.assertEqual({name: causes[name] for name in ("input_loading", "framework", "python")},
                                 {"input_loading": 4 * 400_000, "framework": 4 * 100_000,
                                  # a launch's latency of 5 us, and as much before each loader but the first
                                  "python": 4 * 105_000 + 3 * 5_000})
                found = self.rows("SELECT id FROM finding WHERE kind = 'gain' ORDER BY place", run)
                self.assertEqual(found[:3], [("input_bound",), ("python_overhead",),
                                             ("framework_overhead",)])
                report = json.loads(self.gpushim("report", "--json", self.folder / "run.db").stdout)
                (stage,) = report["input_stages"]
                self.assertEqual(stage["stage"], "collates")
                self.assertAlmostEqual(stage["idle_input_share"], 50 / 400, places=2)

    def test_kernels_are_of_operators_modules_and_ranges(self):
        """forward   |── module ─ |─ linear, 7 ─ |─ addmm ─ launch ─| ─| ─|  range |─ … launch ─|
        backward     |── AddmmBackward0, 7 ── |─ mm ─ launch, launch ─| ──|, on another thread"""
        trace, pid, tid, other = kineto_made.Trace(), kineto_made.PID, kineto_made.TID, 99
        trace.add("python_function", "nn.Module: Linear_0", 1_000_000, 100_000, pid, tid)
        trace.add("cpu_op", "aten::linear", 1_010_000, 80_000, pid, tid,
                  **{"Sequence number": 7, "Fwd thread id": 0})
        trace.add("cpu_op", "aten::addmm", 1_020_000, 60_000, pid, tid,
                  **{"Sequence number": 7, "Fwd thread id": 0})
        trace.kernel("gemm", 1_030_000, 1_040_000, 50_000)
        trace.add("user_annotation", "tail", 1_200_000, 50_000, pid, tid)
        trace.kernel("alone", 1_210_000, 1_220_000, 10_000)
        trace.kernel("alone", 1_230_000, 1_240_000, 10_000)  # 10 us later
        trace.add("cpu_op", "AddmmBackward0", 2_000_000, 100_000, pid, other,
                  **{"Sequence number": 7, "Fwd thread id": 1})
        trace.add("cpu_op", "aten::mm", 2_010_000, 80_000, pid, other)
        for call in (2_020_000, 2_040_000):
            trace.kernel("gemm", call, call + 10_000, 15_000)
            trace.events[-2]["tid"] = other
        run = self.imported(trace.write(self.folder / "t.json.gz"))
        self.assertEqual(self.rows("SELECT operator, module, pass, forward, kernels, sum_ns FROM "
                                   "operator_kernel ORDER BY sum_ns", run),
                         [("aten::mm", "Linear_0", "backward", "aten::linear", 2, 30_000),
                          ("aten::addmm", "Linear_0", "forward", None, 1, 50_000)])
        self.assertEqual(self.rows("SELECT name, ranges, operations, timed, sum_ns, whole, span_ns, idle_ns "
                                   "FROM range_kernel", run), [("tail", 1, 2, 2, 20_000, 1, 30_000, 10_000)])
        text = self.gpushim("report", self.folder / "run.db").stdout
        # Shares are of all kernels, as in the table of these: of 100 us 20 are of no operator.
        self.assertRegex(text, r"OPERATORS .*\n.*aten::addmm +forward +1 +50.0 us +50.0 %\n"
                               r" +aten::mm +backward +2 +30.0 us +30.0 %\n")
        self.assertRegex(text, r"MODULES .*\n +Linear +forward +1 +50.0 us +50.0 %")
        self.assertRegex(text, r"ON THE GPU .*\n +tail +1 +2 +2 +20.0 us +30.0 us +10.0 us")

    def test_a_report_of_a_profile_is_as_long_as_people_read(self):
        """Three operators and two modules are words where there is much else; --all has each in a row."""
        trace, pid, tid = kineto_made.Trace(), kineto_made.PID, kineto_made.TID
        for i in range(12):
            at = 1_000_000 * (i + 1)
            trace.add("python_function", f"nn.Module: Layer{i}_0", at, 100_000, pid, tid)
            trace.add("user_annotation", f"range {i:c}", at, 100_000, pid, tid)
            trace.add("cpu_op", f"aten::op{i}", at + 10_000, 80_000, pid, tid)
            trace.kernel(f"kernel_{i}", at + 20_000, at + 40_000, 50_000 + i)
        self.imported(trace.write(self.folder / "t.json.gz"))
        report, whole = (self.gpushim("report", self.folder / "run.db", *words).stdout.splitlines()
                         for words in ((), ("--all",)))
        self.assertLessEqual(len(report), 60)
        self.assertGreater(len(whole), 60)

    def test_collectives_say_what_their_arguments_say(self):
        self.imported(self.small(1).write(self.folder / "t.json.gz"))
        self.assertEqual(self.rows("SELECT a.name, c.seq, c.count, c.dtype, c.bytes, m.rank, m.ranks, "
                                   "c.group_id "
                                   "FROM collective c JOIN api a ON a.id = c.api_id LEFT JOIN communicator m "
                                   "ON m.id = c.communicator_id"),
                         [("ncclAllReduce", 0, 1000, 9, 2000, 1, 2, 1),
                          ("SendRecv", None, None, None, None, None, None, 2),
                          ("ncclAllReduce", 1, 1000, 9, 2000, 1, 2, 3),
                          ("SendRecv", None, None, None, None, None, None, 4)])

    def test_ranges_that_begin_or_end_together_stay_nested(self):
        trace = kineto_made.Trace()
        for name, start, length in (("inner", 1000, 500), ("outer", 1000, 1000), ("next", 1500, 500),
                                    ("empty", 3000, 0)):
            trace.add("user_annotation", name, start, length, 1, 1)
        self.imported(trace.write(self.folder / "t.json.gz"))
        self.assertEqual(self.rows("SELECT m.kind, n.text FROM marker m JOIN name n ON n.id = m.name_id"),
                         [("push", "outer"), ("push", "inner"), ("pop", "inner"), ("push", "next"),
                          ("pop", "next"), ("pop", "outer"), ("push", "empty"), ("pop", "empty")])

    def test_an_operator_explains_what_its_kernels_do_not(self):
        trace = kineto_made.Trace()
        for i, (explained, sequence) in enumerate([(True, 41), (False, None), (True, 43)]):
            at = 1_000_000 * (i + 1)
            trace.kernel(kineto_made.COLLECTIVE, at, at + 10_000, 5_000, 20, **{"External id": 70 + i})
            if explained:
                trace.add("cpu_op", "record_param_comms", at - 1000, 9000, 1, 1, **kineto_made.NCCL_ARGUMENTS,
                          Seq=sequence, **{"External id": 70 + i})
        trace.kernel("gemm", 9_000_000, 9_010_000, 5_000, 7, **{"External id": 70})
        self.imported(trace.write(self.folder / "t.json.gz"))
        self.assertEqual(self.rows("SELECT a.name, c.seq, c.bytes, c.communicator_id FROM collective c "
                                   "JOIN api a ON a.id = c.api_id"),
                         [("ncclAllReduce", 41, 2000, 1), ("ncclAllReduce", None, None, None),
                          ("ncclAllReduce", 43, 2000, 1)])

    def test_a_range_around_a_launch_says_what_neither_its_kernel_nor_an_operator_does(self):
        """As PyTorch 1.13 to 2.1 wrote it: a kernel of NCCL for sending, whatever it is used for."""
        trace = kineto_made.Trace()
        for number in (1, 2):
            at = number * 1_000_000
            trace.step(number, at, 900_000)
            trace.add("user_annotation", "nccl:all_reduce", at + 1000, 9000, kineto_made.PID, kineto_made.TID,
                      **{"Input Dims": [[1000, 5], [24]], "Input type": ["float", "float"]})
            trace.kernel(kineto_made.OLD_COLLECTIVE, at + 2000, at + 10_000, 500_000, 20)
            trace.kernel(kineto_made.OLD_COLLECTIVE, at + 20_000, at + 520_000, 5_000, 20)  # in no range
        self.imported(trace.write(self.folder / "t.json.gz"))
        self.assertEqual(self.rows("SELECT a.name, c.count, c.dtype, c.bytes, c.communicator_id "
                                   "FROM collective c JOIN api a ON a.id = c.api_id"),
                         2 * [("ncclAllReduce", 5024, 7, 20096, None), ("SendRecv", None, None, None, None)])
        self.assertIn("ALLREDUCE  20.1 kB/step = 5,024 parameters x 4 bytes (implied",
                      self.gpushim("report", self.folder / "run.db").stdout)

    def test_whole_microseconds_are_no_nanoseconds(self):
        self.imported(self.small().write(self.folder / "t.json.gz"))
        errors = "SELECT start_low_ns, start_high_ns, end_low_ns, end_high_ns FROM level_error"
        self.assertEqual(self.rows(errors), [(500, 999, 500, 999)])
        trace = self.small()
        trace.kernel("gemm", 1_000_001, 1_000_009, 7)
        self.imported(trace.write(self.folder / "t.json.gz"))
        self.assertEqual(self.rows(errors), [(0, 0, 0, 0)])

    def test_what_begins_together_moves_and_keeps_its_device_times(self):
        trace = kineto_made.Trace()
        graph = trace.call("cudaGraphLaunch", 1_000_000, 9_000)
        for i in range(3):
            trace.operation("kernel", f"node{i}", 1_010_000 + i * 5_000, 4_000, 7, graph)
        self.imported(trace.write(self.folder / "t.json.gz"))
        self.assertEqual(self.rows("SELECT kernel, enter_ns, dur_ns, device_start_ns FROM v_launch"),
                         [("node0", 1_000_000, 9_000, 1_010_000), ("node1", 1_000_001, 0, 1_015_000),
                          ("node2", 1_000_002, 0, 1_020_000)])
        self.assertEqual(self.rows("SELECT value FROM meta WHERE key = 'moved_starts'"), [(2,)])

    def test_ranks_and_what_is_missing_are_told(self):
        paths = [self.small(rank).write(self.folder / f"{rank}.json.gz") for rank in (0, 1)]
        run = self.imported(*paths)
        self.assertEqual(self.rows("SELECT rank FROM rank ORDER BY rank", run), [(0,), (1,)])
        communicators = [self.rows("SELECT uid, rank, ranks FROM communicator", self.trace(i))
                         for i in (0, 1)]
        self.assertEqual(communicators, [[("0 [0, 1]", 0, 2)], [("0 [0, 1]", 1, 2)]])

    def test_what_breaks_off_counts_up_to_there_and_is_told(self):
        text = self.small().text()
        (self.folder / "cut.json").write_text(text[:text.index("ProfilerStep#2")], encoding="ascii")
        self.imported(self.folder / "cut.json", expect=3)
        self.assertIn("cut.json: breaks off at byte", self.said)
        self.assertEqual(self.rows("SELECT count(*) FROM launch"), [(4,)])
        self.assertNotIn("no work of a GPU", self.said)
        verdict = json.loads(self.gpushim("report", self.folder / "run.db", "--json").stdout)["verdict"]
        self.assertEqual(verdict["trust"], "poor", verdict)
        self.assertIn("not all of 1 file could be read: what may be missing looks idle", verdict["evidence"])
        (self.folder / "cut.json").write_text(text[:text.index("gpu_memcpy")], encoding="ascii")
        self.imported(self.folder / "cut.json", expect=3)
        self.assertIn("; no work of a GPU up to there", self.said)

    def test_files_that_are_none_are_named_and_the_others_taken(self):
        (self.folder / "other.json").write_text("no JSON", encoding="ascii")
        good = self.small().write(self.folder / "t.json.gz")
        run = self.imported(self.folder / "other.json", good, expect=3)
        self.assertIn("left out", self.said)
        self.assertEqual(self.rows("SELECT count(*) FROM rank", run), [(1,)])
        self.gpushim("import", "kineto", self.folder / "other.json", "-o", self.folder / "none.db", expect=2)
        self.gpushim("import", "perfetto", good, expect=2)

    def test_a_file_that_is_given_twice_counts_once(self):
        path = self.small().write(self.folder / "t.json.gz")
        run = self.imported(path, path)
        self.assertIn("is a copy of another trace", self.said)
        self.assertEqual(self.rows("SELECT count(*) FROM rank", run), [(1,)])

    def test_again_it_makes_the_same(self):
        path = self.small().write(self.folder / "t.json.gz")
        dumps = []
        for name in ("a", "b"):
            self.gpushim("import", "kineto", path, "-o", self.folder / name)
            base = sqlite3.connect(self.folder / name)
            self.addCleanup(base.close)
            dumps.append(list(base.iterdump()))
        self.assertEqual(*dumps)
        self.assertEqual(self.rows("SELECT file FROM rank", base), [(str(path),)])
