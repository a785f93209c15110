"""PyTorch's step breakdown of a trace of its profiler, by the definition of its TensorBoard plugin."""
import contextlib
import json
import sqlite3

import cli
from kineto_made import PID, TID, Trace

FIGURES = ("step", "kernel", "memcpy", "memset", "communication", "runtime", "dataloader", "cpu_exec",
           "other")
COLUMNS = "step, " + "".join(f"{name}_ns, " for name in FIGURES) + "source"
PERIOD = 860_000


def training(steps):
    """Each step begins with the loader and launches a kernel from an operator, which ends after the step.
    Then the host does nothing for 50 us. In us, of a step:

        loader    |0──────300|
        operator             |300──404|
        launch                   |400-402|
        kernel                         |410───────────────910|
        the mark  |0───────────────────────────────810|      the next one from 860
    """
    trace = Trace()
    for number in range(1, steps + 1):
        at = number * PERIOD
        trace.step(number, at, 810_000)
        trace.add("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at,
                  300_000, PID, TID)
        trace.add("cpu_op", "aten::copy_", at + 100_000, 100_000, PID, TID)
        trace.add("cpu_op", "aten::linear", at + 300_000, 104_000, PID, TID)
        trace.kernel("ampere_sgemm_128x64_tn", at + 400_000, at + 410_000, 500_000)
    return trace


class TorchStep(cli.Case):
    def steps_of(self, trace):
        run = self.folder / "run.db"
        self.gpushim("import", "kineto", trace.write(self.folder / "made.json.gz"), "-o", run)
        return [tuple(row.values()) for row in json.loads(
            self.gpushim("sql", "--json", run, f"SELECT {COLUMNS} FROM compat_torch_step").stdout)]

    def test_each_instant_is_the_first_of_what_there_is(self):
        first, *others = self.steps_of(training(4))
        rest = (102_000, 6_000, "profiler")
        self.assertEqual(first, (1, 910_000, 500_000, 0, 0, 0, 2_000, 300_000, *rest))
        # The kernel before ended 50 us after their mark, so these begin there.
        self.assertEqual(others, [(number, 860_000, 500_000, 0, 0, 0, 2_000, 250_000, *rest)
                                  for number in (2, 3, 4)])

    def test_a_last_step_without_its_kernels_is_left_out(self):
        trace = training(3)
        trace.step(4, 4 * PERIOD, 810_000)
        self.assertEqual([row[0] for row in self.steps_of(trace)], [1, 2, 3])

    def test_numbers_may_come_again(self):
        """As where a program has started its profiler twice."""
        trace = training(3)
        for number in (1, 2, 3):
            trace.step(number, (number + 3) * PERIOD, 810_000)
            trace.kernel("ampere_sgemm_128x64_tn", (number + 3) * PERIOD + 400_000,
                         (number + 3) * PERIOD + 410_000, 500_000)
        steps = self.steps_of(trace)
        self.assertEqual([row[0] for row in steps], [1, 2, 3, 1, 2, 3])
        self.assertEqual([row[2] for row in steps], [500_000] * 6)

    def test_frames_count_for_nothing_and_ranges_for_code(self):
        trace = training(2)
        trace.add("python_function", "train.py(7): step", PERIOD, 1_500_000, PID, TID)
        self.assertEqual(self.steps_of(trace)[0][8:10], (102_000, 6_000))
        trace.add("user_annotation", "my own range", 2 * PERIOD + 400_000, 300_000, PID, TID)
        self.assertEqual(self.steps_of(trace)[1][8:10], (108_000, 0))

    def test_of_a_trace_of_ours_it_says_nothing(self):
        """It has no operators, which would be missing."""
        kept, run = self.folder / "kept", self.folder / "run.db"
        self.gpushim("import", "kineto", training(4).write(self.folder / "made.json.gz"), "-o", run,
                     "--keep-traces", kept)
        trace, = kept.iterdir()
        for is_ours in (False, True):
            if is_ours:
                with contextlib.closing(sqlite3.connect(trace)) as base, base:
                    base.execute("DELETE FROM meta WHERE key = 'source'")
            self.gpushim("analyze", trace, "-o", run)
            rows = self.gpushim("sql", "--csv", run, "SELECT count(*) AS steps FROM torch_step").stdout
            self.assertEqual(rows.split(), ["steps", "0" if is_ours else "4"])

    def test_without_marks_all_of_it_is_one_step(self):
        """From the first loader to the end of the last kernel."""
        trace = training(4)
        trace.events = [event for event in trace.events if "ProfilerStep" not in event["name"]]
        only, = self.steps_of(trace)
        self.assertEqual((*only[:3], only[-1]), (0, 3 * PERIOD + 910_000, 2_000_000, "profiler"))

    def test_without_operators_our_causes_are_what_there_is(self):
        trace = training(4)
        trace.events = [event for event in trace.events if event["cat"] in ("kernel", "cuda_runtime")]
        self.assertEqual({row[-1] for row in self.steps_of(trace)} - {"causes"}, set())

    def test_a_kernel_is_communication_where_an_operator_of_such_a_name_launched_it(self):
        """That tool does not ask what a kernel is called."""
        nccl = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"
        for operator, is_communication in (("nccl:all_reduce", True), ("c10d::allreduce_", False)):
            with self.subTest(operator):
                trace = training(1)
                trace.add("cpu_op", operator, PERIOD + 500_000, 10_000, PID, TID)
                trace.kernel(nccl, PERIOD + 502_000, PERIOD + 910_000, 80_000, stream=20)
                first, = self.steps_of(trace)
                kernel, communication = first[2], first[5]
                self.assertEqual((kernel, communication),
                                 (500_000, 80_000) if is_communication else (580_000, 0))

    def test_work_from_before_the_recording_is_not_the_first_steps(self):
        """Its launch was not recorded; it ends 20 us after the mark, before the step's own work begins."""
        trace = training(2)
        trace.kernel("ampere_sgemm_128x64_tn", None, PERIOD - 50_000, 70_000)
        self.assertEqual(self.steps_of(trace)[0][1], 890_000)

    def test_all_kernels_of_a_graph_are_its_launchs(self):
        """The second kernel ends 60 us after the step's first would."""
        trace = training(1)
        trace.events = [event for event in trace.events if event["cat"] not in ("kernel", "cuda_runtime")]
        call = trace.call("cudaGraphLaunch", PERIOD + 400_000, 2_000)
        for start, duration in ((410_000, 500_000), (910_000, 60_000)):
            trace.operation("kernel", "ampere_sgemm_128x64_tn", PERIOD + start, duration, 7, call,
                            grid=[8, 2, 1], block=[128, 1, 1])
        first, = self.steps_of(trace)
        self.assertEqual(first[1:3], (970_000, 560_000))
