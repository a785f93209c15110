"""How the GPU check compares our counts with PyTorch's profiler's: on traces of the box, and files as Kineto
writes them, made of the box's truth, with one thing changed in each."""
import contextlib
import json
import sqlite3
import sys

import box
import graph_programs
import kineto_made
import preload

GPU = box.ROOT / "test" / "gpu"
sys.path[:0] = [str(GPU), str(GPU / "rows")]

import counted  # noqa: E402
import frameworks  # noqa: E402
import machine as m  # noqa: E402
import memory as rows_memory  # noqa: E402
import operations  # noqa: E402
import traces  # noqa: E402

ALL = (0, 1 << 62)


class GpuCounts(preload.PreloadCase):
    def run_traced(self, command):
        """(our rows, the profiler's file of the same run)"""
        truth = self.folder / "truth"
        self.traced(command, GPUSIM_TRUTH=truth, **preload.QUICK)
        file = self.folder / "kineto.json"
        file.write_text(kineto_made.of_operations(box.read_truth(truth)).text(), encoding="utf-8")
        return counted.Rows(self.the_trace()), file

    def driver_program(self):
        return self.run_traced([sys.executable, "-B", GPU / "programs" / "driver.py"])

    def changed(self, file, change):
        """What is said when the profiler had seen something else."""
        text = json.loads(file.read_text(encoding="utf-8"))
        change(text["traceEvents"])
        other = file.with_name("changed.json")
        other.write_text(json.dumps(text), encoding="utf-8")
        return counted.of_kineto(other)

    def test_the_same_is_the_same_and_one_thing_less_is_told_with_both_numbers(self):
        rows, file = self.driver_program()
        ours = rows.counts(ALL)
        self.assertEqual(counted.differences(ours, counted.of_kineto(file)), [])
        self.assertEqual(counted.differences(ours, counted.of_truth(self.folder / "truth", ALL)), [])
        for category, said in (
                ("kernel", r"kernel \w+__\d+us: (\d+) by us, (\d+) by them"),
                ("gpu_memcpy", r"\w2\w: \[\d+, \d+\] by us, \[\d+, \d+\] by them \(copies, bytes\)"),
                ("gpu_memset", r"memsets: \[11, 1100000\] by us, \[10, 1000000\] by them \(.*\)")):
            theirs = self.changed(file, lambda events, category=category: events.remove(
                next(event for event in events if event["cat"] == category)))
            with self.subTest(category):
                one, = counted.differences(ours, theirs)
                self.assertRegex(one, f"^{said}$")

        def fewer_bytes(events):
            next(event for event in events if event["cat"] == "gpu_memcpy")["args"]["bytes"] -= 1

        self.assertEqual(len(counted.differences(ours, self.changed(file, fewer_bytes))), 1)

    def test_a_framework_s_row_is_right_and_is_wrong(self):
        rows, file = self.driver_program()
        said = {"span": ALL, "known": {"short__2us": 500}}
        text, ours = frameworks.judged(said, counted.of_kineto(file), [rows])
        self.assertEqual(text, "541 launches of 3 kernels, 31 copies of 3100000 bytes, as CUPTI counts")
        self.assertEqual(counted.figures(ours)["copies"]["h2d"], [17, 1_700_000])
        theirs = self.changed(file, lambda events: events.pop())
        with self.assertRaisesRegex(AssertionError, r"5, 500000\] by us, \[4, 400000\] by them"):
            frameworks.judged(said, theirs, [rows])
        with self.assertRaisesRegex(AssertionError, "launches of short__2us: 500, expected 501"):
            frameworks.judged({**said, "known": {"short__2us": 501}}, counted.of_kineto(file), [rows])
        with self.assertRaisesRegex(m.Skip, "no profiler of PyTorch's here"):
            frameworks.judged({**said, "known": {}}, None, [rows])

    def test_a_trace_that_does_not_say_on_which_gpu_is_wrong(self):
        self.run_traced([sys.executable, "-B", GPU / "programs" / "driver.py"])
        with contextlib.closing(sqlite3.connect(self.the_trace())) as base, base:
            base.execute("DELETE FROM context")
        for read in (traces.Trace, counted.Rows, operations.of_trace, rows_memory.peak):
            with self.subTest(read), self.assertRaisesRegex(
                    AssertionError, r"operations on no GPU that is known: \d+, expected 0"):
                read(self.the_trace())

    def test_only_what_is_in_the_span_counts(self):
        rows, _ = self.driver_program()
        first = min(enter_ns for enter_ns, _ in rows.launches)
        self.assertEqual(sum(rows.counts((first + 1, 1 << 62)).kernels.values()), 540)
        self.assertEqual(sum(rows.counts((0, first)).kernels.values()), 1)

    def test_what_graphs_ran_counts_for_each_kernel(self):
        source = graph_programs.PROGRAM.replace("BEFORE", "").replace("BODY", GRAPHS)
        rows, file = self.run_traced([preload.compiled(source, self.folder / "program")])
        ours, theirs = rows.counts(ALL), counted.of_kineto(file)
        self.assertEqual((ours.copies_in_graphs[0], ours.memsets_in_graphs, sum(ours.kernels.values())),
                         (3, 3, 6))
        self.assertEqual(counted.differences(ours, theirs), [])
        for category in ("kernel", "gpu_memcpy", "gpu_memset"):
            theirs = self.changed(file, lambda events, category=category: events.remove(
                next(event for event in events if event["cat"] == category)))
            self.assertEqual(len(counted.differences(ours, theirs)), 1, category)
        ours.unknown = 2
        self.assertIn("2 launches of graphs whose contents were not recorded",
                      counted.told(counted.differences(ours, counted.of_kineto(file))))

    def test_copies_of_graphs_that_the_profiler_tells_as_kernels_are_copies(self):
        source = graph_programs.PROGRAM.replace("BEFORE", "").replace("BODY", GRAPHS)
        rows, file = self.run_traced([preload.compiled(source, self.folder / "program")])
        ours = rows.counts(ALL)
        self.assertEqual(ours.copies_in_graphs[0], 3)

        def as_kernels(events, name="memcpy32_post", blocks=0, lost=0):
            copies = [event for event in events if event["cat"] == "gpu_memcpy"]
            for event in copies[:len(copies) - lost]:
                size = event["args"].pop("bytes")
                event.update(cat="kernel", name=name)
                event["args"].update(grid=[-(-size // 1024) + blocks, 1, 1], block=[256, 1, 1])
            for event in copies[len(copies) - lost:]:
                events.remove(event)

        theirs = self.changed(file, as_kernels)
        self.assertEqual((theirs.copies, theirs.copies_by_kernels[0]), ({}, 3))
        size = ours.copies_in_graphs[1]
        for less, said in ((0, 0), (3 * 1023, 0), (3 * 1023 + 1, 1), (-1, 1)):
            ours.copies_in_graphs[1] = size - less
            self.assertEqual(len(counted.differences(ours, theirs)), said, less)
        ours.copies_in_graphs[1] = size
        for change in ({"lost": 1}, {"blocks": 1}, {"blocks": -1}):
            theirs = self.changed(file, lambda events, change=change: as_kernels(events, **change))
            with self.subTest(**change):
                one, = counted.differences(ours, theirs)
                self.assertRegex(one, r"^all copies: \[3, \d+\] by us, \[[23], \d+\] by them")
        theirs = self.changed(file, lambda events: as_kernels(events, name="memcpy_of_no_table"))
        self.assertEqual(len(counted.differences(ours, theirs)), 2)

    def test_names_are_compared_in_one_form(self):
        ours, theirs = counted.Counts(), counted.Counts()
        ours.kernel("_Z4stepIfEvPT_i", 3)
        theirs.kernel("void step<float>(float*, int)", 2)
        theirs.kernel("_Z4stepIfEvPT_i")
        self.assertEqual(counted.differences(ours, theirs), [])
        self.assertEqual(counted.demangled("_Znonsense"), "_Znonsense")


# Three launches of a graph of two kernels, a copy and a memset.
GRAPHS = """
    CUgraph graph = chain(a, b, 4096);
    CUgraphNode set;
    CUDA_MEMSET_NODE_PARAMS params = {.dst = data, .pitch = 64, .value = 1, .elementSize = 4, .width = 16,
                                      .height = 1};
    MUST(cuGraphAddMemsetNode(&set, graph, &nodes[2], 1, &params, context));
    CUgraphExec ready;
    MUST(cuGraphInstantiateWithFlags(&ready, graph, 0));
    for (int i = 0; i < 3; ++i) MUST(cuGraphLaunch(ready, stream));
    MUST(cuStreamSynchronize(stream));
"""
