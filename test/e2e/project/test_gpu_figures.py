"""Figures of `make gpu-check` beside somebody else's: samples of NVML, copy rates, memory. On made data, and
programs of PyTorch as far as they can run where none is."""
import json
import subprocess
import sys
import unittest

import box

GPU = box.ROOT / "test" / "gpu"
sys.path[:0] = [str(GPU), str(GPU / "rows")]

import ceilings  # noqa: E402
import memory  # noqa: E402
import nvml  # noqa: E402
import nvml_words  # noqa: E402

SECOND_NS = 1_000_000_000
LINE = "GPU-1, 87, 12, 1500, 81559, 350.50, 45, 1980, 2619"
OURS = {"gpu_busy_percent": 85, "memory_busy_percent": 12, "memory_used_bytes": 1500 << 20,
        "memory_total_bytes": 81559 << 20, "power_mw": 340_000, "temperature_c": 44, "sm_mhz": 1950,
        "memory_mhz": 2619}


class Nvml(unittest.TestCase):
    def compared(self, line=LINE, **ours):
        samples = [(0, OURS), (SECOND_NS, {**OURS, **ours})]
        return nvml.compared([(SECOND_NS // 2, nvml_words.read(line))], samples, "nvidia-smi")

    def test_what_agrees_is_told(self):
        row = self.compared()
        self.assertIn("utilization.gpu 87 and 85", row.found)
        self.assertEqual({one["compared"] for one in row.figures.values()}, {1})

    def test_it_has_to_lie_between_our_samples(self):
        self.compared("GPU-1, 50, 12, 1500, 81559, 350.50, 45, 1980, 2619", gpu_busy_percent=30)
        with self.assertRaisesRegex(AssertionError, "utilization.gpu by nvidia-smi: 50, ours 85 to 85"):
            self.compared("GPU-1, 50, 12, 1500, 81559, 350.50, 45, 1980, 2619")
        for theirs, other, what in (("1500", "1600", "memory.used"), ("350.50", "90", "power.draw"),
                                    (" 45,", " 60,", "temperature.gpu"), ("1980", "300", "clocks.sm")):
            with self.assertRaisesRegex(AssertionError, what):
                self.compared(LINE.replace(theirs, other))

    def test_what_is_not_there_is_not_compared(self):
        row = self.compared(LINE.replace("350.50", "[N/A]"))
        self.assertIn("power.draw not told by both", row.found)
        self.assertEqual(nvml_words.read("No devices were found"), {})
        for far, near in ((-10, 10), (1, 2)):  # seconds from what they said
            samples = [(far * SECOND_NS, OURS), (near * SECOND_NS, OURS)]
            with self.assertRaisesRegex(AssertionError, "nothing is told by both"):
                nvml.compared([(0, nvml_words.read(LINE))], samples, "nvidia-smi")


class Rates(unittest.TestCase):
    def test_a_rate_has_to_be_what_was_measured(self):
        measured = {"h2d_pinned": 25e9, "h2d_pageable": 6e9}
        ceilings.compared(measured, {"h2d_pinned": 24e9, "h2d_pageable": 12e9}, exact=False)
        with self.assertRaisesRegex(AssertionError, "h2d pageable 12.00, measured 6.00"):
            ceilings.compared(measured, {"h2d_pinned": 24e9, "h2d_pageable": 12e9}, exact=True)
        with self.assertRaisesRegex(AssertionError, "h2d pinned 30.00, measured 25.00"):
            ceilings.compared(measured, {"h2d_pinned": 30e9, "h2d_pageable": 6e9}, exact=False)
        with self.assertRaisesRegex(AssertionError, "h2d_pageable is not among"):
            ceilings.compared(measured, {"h2d_pinned": 25e9}, exact=False)


class Memory(unittest.TestCase):
    def test_ours_lies_between_what_was_reserved_and_what_is_used(self):
        said = {"allocated": 100 << 20, "reserved": 120 << 20, "used": 500 << 20}
        self.assertIn("(+8.0)", memory.compared(128 << 20, said, "PyTorch").found)
        for ours, why in ((119, "less than was reserved"), (503, "more than is used")):
            with self.assertRaisesRegex(AssertionError, why):
                memory.compared(ours << 20, said, "PyTorch")


class Programs(unittest.TestCase):
    def test_without_pytorch_they_say_so(self):
        # An interpreter that finds nothing but its own library.
        for words in (["loops.py", "queued"], ["memory.py", "torch"], ["turns.py", "torch"]):
            done = subprocess.run([sys.executable, "-I", "-S", "-B", GPU / "programs" / words[0], *words[1:]],
                                  text=True, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("no torch", json.loads(done.stdout)["missing"])
