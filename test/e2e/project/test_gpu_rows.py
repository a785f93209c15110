"""The rows of the GPU check that need a framework on a GPU, where there is none: a program that does
known work on the box stands in for it (gpu_check_stand_in.py), so that what a row says, and when it is
wrong, has run."""
import importlib
import os
import re
import sys
from unittest import mock

import box
import preload

GPU = box.ROOT / "test" / "gpu"
sys.path[:0] = [str(GPU), str(GPU / "rows")]

import frameworks  # noqa: E402
import machine as m  # noqa: E402

STAND_IN = box.TOOLS / "gpu_check_stand_in.py"
SEEN = "541 launches of 3 kernels, 31 copies of 3100000 bytes, as CUPTI counts; the same result to the bit"

# How rows name programs, and works of framework.py.
NAMED = ((re.compile(r'PROGRAMS((?: / "[\w.]+")+)'), m.PROGRAMS, ""),
         (re.compile(r'TRAIN((?: / "[\w.]+")+)'), m.TRAIN, ""),
         (re.compile(r'\b(?:check_work|without_the_shim|counted|command)\(machine, "(\w+)"'),
          m.PROGRAMS / "workloads", ".py"))


class Named(preload.unittest.TestCase):
    def test_every_program_that_a_row_names_is_there(self):
        for pattern, folder, ending in NAMED:
            named = {folder / (words.replace('"', "").replace(" / ", "/").lstrip("/") + ending)
                     for file in GPU.rglob("*.py") for words in pattern.findall(file.read_text("utf-8"))}
            self.assertGreater(len(named), 0, pattern.pattern)
            self.assertEqual([str(path) for path in sorted(named) if not path.is_file()], [])


class GpuRows(preload.PreloadCase):
    def machine(self, library=preload.SHIM, behaves=""):
        """One that takes the box for a GPU."""
        pretended = {**box.environment(preload.QUICK), "STAND_IN": behaves,
                     "GPUSIM_TRUTH": str(self.folder / "truth.%p"), "GPU_CHECK_PYTHON": str(STAND_IN)}
        here = mock.patch.dict(os.environ, pretended, clear=True)
        here.start()
        self.addCleanup(here.stop)
        found = m.Machine(library)
        found.simulated = False
        found.begin(100)
        return found

    def said(self, row, **options):
        return list(importlib.import_module(row).check(self.machine(**options)))

    def test_a_framework_s_launches_are_those_that_the_profiler_counts(self):
        one, = frameworks.check_work(self.machine(), "any", "the work")
        self.assertEqual((one.what, one.found), ("the work", SEEN))
        self.assertEqual(one.figures["launches"], 541)

    def test_with_one_hook_less_it_is_wrong(self):
        for export, said in (("cuLaunchKernel", "launches of short__2us: 0, expected 500"),
                             ("cuMemcpyDtoDAsync_v2", r"d2d: \[0, 0\] by us, \[9, 900000\] by them")):
            library = preload.without_row(export, self.folder / "libgpushim.so")
            with self.subTest(export), self.assertRaisesRegex(AssertionError, said):
                list(frameworks.check_work(self.machine(library), "any", "the work"))

    def test_results_that_differ_are_wrong_unless_they_differ_by_themselves(self):
        for row in ("cupy", "losses", "workers", "capture"):
            expected = r"\[2.0, 3.0\].*expected.*\[1.0, 3.0\]"
            with self.subTest(row), self.assertRaisesRegex(AssertionError, expected):
                self.said(row, behaves="differs")
        for row in ("losses", "capture"):
            with self.subTest(row), self.assertRaisesRegex(m.Skip, "differ by themselves"):
                self.said(row, behaves="random")
        one, = self.said("cupy", behaves="random")
        self.assertIn("as CUPTI counts; its result differs by itself", one.found)

    def test_what_is_not_there_is_skipped(self):
        for row in ("pytorch", "profiler", "losses", "workers", "capture"):
            with self.subTest(row), self.assertRaisesRegex(m.Skip, "no torch"):
                self.said(row, behaves="nothing")

    def test_all_is_the_same(self):
        for row, text in (
                ("losses", "2 of them, switched off, host times only, .*, everything timed"),
                ("workers", "the same losses; only the parent has launches"),
                ("profiler", "541 launches of 3 kernels, as it counts without the shim; the trace is whole"),
                ("capture", r"the same results; [1-9]\d* of \d+ timed")):
            with self.subTest(row):
                one, = self.said(row)
                self.assertRegex(one.found, f"^{text}$")

    def test_what_cupti_timed_is_what_a_profiler_counts_in_another_run(self):
        row = importlib.import_module("cupti")
        machine = self.machine()
        self.assertRegex(row.frameworks_graphs(machine).found,
                         "^541 kernels with times, 31 copies, 11 memsets, as the profiler counts; in graphs")
        for _ in range(10):  # on a busy machine the program may be over before we have times of it
            found = row.profiler_after(machine, {"repeats": True, "result": [1.0, 3.0]}).found
            if found.endswith("cupti"):
                break
        self.assertRegex(found, "^ends with 0; it counts 541 kernels, ours: cupti$")
        with self.assertRaisesRegex(AssertionError, "a profiler after us"):
            row.profiler_after(machine, {"repeats": True, "result": [2.0, 3.0]})

    def test_what_cupti_did_not_time_is_wrong(self):
        row = importlib.import_module("cupti")
        for knobs, said in (({"GPUSIM_CUPTI_DROP": "10"}, r"kernel short__2us: 4\d\d by us, 500 by them"),
                            ({"GPUSIM_FAIL": "cuptiSubscribe_v2:1:39"}, "not to be had: another profiler")):
            with self.subTest(said):
                machine = self.machine()
                os.environ.update(knobs)
                for _ in range(10):  # on a busy machine the program may be over before we have times of it
                    with self.assertRaises(AssertionError) as why:
                        row.frameworks_graphs(machine)
                    if ": 0 by us" not in str(why.exception):
                        break
                self.assertRegex(str(why.exception), said)

    def test_nodes_that_cupti_did_not_tell_are_wrong(self):
        row = importlib.import_module("cupti")
        machine = m.Machine(preload.SHIM, rehearse=True)
        self.addCleanup(machine.forget)
        with mock.patch.object(row, "CUPTI", {**row.CUPTI, "GPUSIM_CUPTI_DROP": 10}):
            with self.assertRaisesRegex(AssertionError, "nodes are others|launches have times"):
                row.driver_graphs(machine)
        with mock.patch.object(row, "CUPTI", {**row.CUPTI, "GPUSIM_FAIL": "cuptiSubscribe_v2:1:35"}):
            with self.assertRaisesRegex(m.Skip, "error 35"):
                row.driver_graphs(machine)

    def test_collectives_that_are_not_seen_are_wrong(self):
        with self.assertRaisesRegex(AssertionError, "collectives of torch.distributed: {}"):
            self.said("nccl")  # the stand-in calls none

    def test_a_look_up_that_gives_another_function_is_wrong(self):
        without = ["dlsym cuA 0 0 0 True cuA driver", "dlsym cuB 0 0 0 True cuB driver",
                   "dlsym cuAlias 0 0 0 True cuA driver", "v2 cuA 12000 0 (0, 0) True cuA driver",
                   "v2 cuHidden 12000 0 (0, 0) True - driver", "v2 cuNo 12000 0 (0, 1) False - -"]
        under = [line.replace(" driver", " shim") for line in without]
        under[2] = "dlsym cuAlias 0 0 0 True cuAlias shim"  # one address there, a wrapper of its own here
        lookups = importlib.import_module("lookups")
        self.assertEqual(lookups.identity(under, without).figures, {"addresses": 2, "exports": 1})
        under[3] = "v2 cuA 12000 0 (0, 0) True cuAlias shim"
        lookups.identity(under, without)
        for other in ("cuB", "-"):
            under[3] = f"v2 cuA 12000 0 (0, 0) True {other} shim"
            with self.subTest(other), self.assertRaisesRegex(AssertionError, "another function: v2 cuA"):
                lookups.identity(under, without)
