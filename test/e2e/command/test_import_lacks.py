"""Importing profiles that lack something, are of another version, or have a clock that jumps."""
import json

import importing
import kineto_made


class Lacks(importing.Import):
    def test_another_accelerators_work_is_said_not_to_be_read(self):
        trace = kineto_made.Trace()
        for i in range(3):
            trace.add("cpu_op", "aten::mm", i * 1000, 900, kineto_made.PID, kineto_made.TID)
            trace.add("mtia_ccp_events", "fc", i * 1000 + 500, 200, 1, 1)
        trace.add("Trace", "PyTorch Profiler (0)", 0, 3000, "Spans", "PyTorch Profiler")
        self.imported(trace.write(self.folder / "t.json.gz"), expect=3)
        self.assertIn("no work of a GPU in it, and events of kinds that are not read: 3 of mtia_ccp_events",
                      self.said)
        said = self.gpushim("report", self.folder / "run.db").stdout
        self.assertIn("no GPU recorded", said)
        self.assertIn("OPERATORS  no kernel is known to be of an operator", said)

    def test_a_profile_of_the_cpu_alone_says_how_a_gpus_is_made(self):
        trace = kineto_made.Trace()
        trace.add("cpu_op", "aten::mm", 0, 900, kineto_made.PID, kineto_made.TID)
        trace.add("Trace", "PyTorch Profiler (0)", 0, 3000, "Spans", "PyTorch Profiler")
        self.imported(trace.write(self.folder / "t.json.gz"), expect=3)
        self.assertIn("no work of a GPU in it; ProfilerActivity.CUDA records it", self.said)

    def test_a_profile_of_calls_alone_has_no_work(self):
        """CUDA was recorded: to record it is no cure."""
        trace = kineto_made.Trace()
        trace.add("cpu_op", "aten::mm", 0, 4900, kineto_made.PID, kineto_made.TID)
        trace.call("cudaLaunchKernel", 1000, 900)
        trace.call("cudaDeviceSynchronize", 2000, 900)
        trace.add("Trace", "PyTorch Profiler (0)", 0, 3000, "Spans", "PyTorch Profiler")
        self.imported(trace.write(self.folder / "t.json.gz"), expect=3)
        self.assertIn("no work of a GPU in it, though it has 2 calls of the driver or the runtime.",
                      self.said)
        self.assertNotIn("ProfilerActivity", self.said)

    def test_the_tool_need_not_be_named(self):
        trace, run = kineto_made.made(1, 3).write(self.folder / "t.json.gz"), self.folder / "run.db"
        self.gpushim("import", trace, "-o", run)
        self.assertIn("PyTorch's profiler (Kineto)", self.gpushim("report", run).stdout)
        for files, said in (((), "import what? gpushim import [kineto|nsys|xplane] FILE"),
                            (("kineto",), "import what? gpushim import [kineto|nsys|xplane] FILE"),
                            ((trace, "a.sqlite"),
                             "t.json.gz and a.sqlite are of two tools; import them one by one"),
                            ((trace, "a.txt"),
                             "a.txt: its name does not tell which tool wrote it; say kineto")):
            self.assertIn(said, self.gpushim("import", *files, "-o", run, expect=2).stderr)
        self.assertIn("not exported yet", self.gpushim("import", "a.nsys-rep", "-o", run, expect=2).stderr)

    def profile(self, name, begin_s, rank=0):
        trace = kineto_made.Trace(rank)
        for number in range(3):
            at = number * 1_000_000
            trace.step(number, at, 900_000)
            trace.kernel("gemm", at + 100_000, at + 110_000, 500_000)
        file = self.folder / name
        file.write_text(trace.text().replace('{', f'{{"baseTimeNanoseconds": {begin_s}000000000, ', 1),
                        encoding="utf-8")
        return file

    def test_a_later_profile_of_a_process_is_no_second_process(self):
        """A profiler that repeats writes a file for each cycle."""
        first, second = self.profile("a.1.json", 1_700_000_000), self.profile("b.2.json", 1_700_000_005)
        third = self.profile("c.3.json", 1_700_000_010)
        self.imported(second, first, third, expect=3)
        for earlier in (first, second):
            self.assertIn(f"left out {earlier}: of the same process as {third}, and earlier", self.said)
        report = json.loads(self.gpushim("report", self.folder / "run.db", "--json").stdout)
        self.assertEqual(len(report["gpus"]), 1)
        # Beside each other, or of two ranks, they are two processes.
        self.imported(first, self.profile("b.2.json", 1_700_000_000))
        self.imported(first, self.profile("b.2.json", 1_700_000_005, 1))

    def test_what_another_tool_writes_in_chromes_format_is_refused(self):
        trace = kineto_made.Trace()
        trace.add("requests", "resnet50", 0, 900, 1, 1)
        self.imported(trace.write(self.folder / "t.json.gz"), expect=2)
        self.assertIn("not a trace of PyTorch's profiler (Kineto): no event in it is of its kinds", self.said)

    def test_a_list_of_anything_is_refused(self):
        """As PyTorch writes a course of memory."""
        file = self.folder / "memory.json"
        file.write_text("[[1726077563878112, 1726077563891027], [[0, 4096], [512, 4096]]]", encoding="utf-8")
        self.imported(file, expect=2)
        self.assertIn("no event in it is of its kinds", self.said)

    def test_another_version_of_the_format_is_said(self):
        trace = kineto_made.made(1, 3)
        file = self.folder / "t.json"
        file.write_text(trace.text().replace('"schemaVersion": 1', '"schemaVersion": 99'), encoding="utf-8")
        done = self.gpushim("import", "kineto", file, "-o", self.folder / "run.db", expect=3)
        self.assertIn("schemaVersion 99, where 1 is known", done.stderr)

    def test_a_clock_that_jumps_is_told(self):
        hour, trusted = 3600 * 10**9, {}
        for jump in (0, hour):
            trace = kineto_made.Trace()
            for number in range(1, 9):
                at = hour + number * 1_000_000
                trace.step(number, at, 900_000)
                for i in range(5):
                    trace.kernel("gemm", at + i * 100_000, at + i * 100_000 + 10_000 - jump * (number > 4),
                                 50_000)
            run = self.imported(trace.write(self.folder / "t.json.gz"))
            verdict = json.loads(self.gpushim("report", self.folder / "run.db", "--json").stdout)["verdict"]
            trusted[jump] = (verdict["trust"], [what for what in verdict["evidence"]
                                                if "began before being asked for" in what])
        self.assertEqual(trusted[0][1], [])
        self.assertEqual(trusted[hour], ("poor", ["20 operations began before being asked for: "
                                                  "a clock jumped, or clocks disagree"]))
