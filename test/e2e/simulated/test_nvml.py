"""The box's NVML beside its driver, in real programs: it shows what other processes do and calls devices what
the driver calls them.
"""
import json
import re
import subprocess
import sys
import unittest

import box
import optional

PROGRAMS = box.TOOLS / "nvml_programs.py"


class Nvml(unittest.TestCase):
    def setUp(self):
        self.knobs = {"GPUSIM_DEVICES": 2, "GPUSIM_NAME": "Z9"}

    def seen(self, program, **knobs):
        done = box.run([sys.executable, PROGRAMS, program], {**self.knobs, **knobs})
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_every_function_of_the_table_is_exported(self):
        table = (box.ROOT / "test" / "sim" / "nvml" / "exports.def").read_text(encoding="utf-8")
        rows = re.findall(r"^EXPORT\((\w+)\)$", table, re.MULTILINE)
        self.assertEqual(len(rows), 398)
        self.assertEqual(self.seen("exported", NAMES=",".join(rows)), rows)

    def test_identities_are_the_drivers(self):
        devices = self.seen("identities")
        self.assertEqual(len(devices), 2)
        for device in devices:
            self.assertEqual(device["nvml"], device["driver"])
            self.assertEqual(device["nvml"][1], "Simulated Z9")
            self.assertTrue(device["same address"])
        self.assertNotEqual(devices[0]["nvml"][0], devices[1]["nvml"][0])

    def test_memory_of_another_process(self):
        with subprocess.Popen([sys.executable, str(PROGRAMS), "hold_memory"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, env=box.environment(self.knobs), text=True) as holder:
            self.assertEqual(holder.stdout.readline(), "holding\n")
            during = self.seen("look_at_memory")
            holder.stdin.close()
            holder.wait()
        after = self.seen("look_at_memory")
        self.assertEqual(list(during["processes"]), [str(holder.pid)])
        self.assertGreaterEqual(during["processes"][str(holder.pid)], 300 << 20)
        self.assertEqual(during["used"], [0, during["processes"][str(holder.pid)]])
        self.assertEqual(after, {"used": [0, 0], "processes": {}})

    def test_memory_is_what_the_driver_says(self):
        seen = self.seen("driver_and_nvml_memory")
        self.assertGreaterEqual(seen["nvml"], 100 << 20)
        self.assertEqual(seen["nvml"], seen["driver"])

    def test_utilisation_is_the_share_of_time_kernels_ran(self):
        seen = self.seen("busy", GPUSIM_CLOCK="stepped")
        self.assertEqual(seen["after work"], [25, 0])
        self.assertEqual(seen["after rest"], [0, 0])

    def test_heat_holds_the_clock_and_the_kernels(self):
        knobs = {"GPUSIM_CLOCK": "stepped", "GPUSIM_TEMP_C": 60}
        free, thermal = [1980, 0, 60], [1320, 32, 87]
        self.assertEqual(self.seen("hot", GPUSIM_HOT="1.5:1320", **knobs),
                         [[1, *free], [1, *thermal], [1.5, *thermal]])
        self.assertEqual(self.seen("hot", **knobs), [[1, *free]] * 3)

    def test_heat_must_be_one_that_is_known(self):
        done = box.run([sys.executable, PROGRAMS, "hot"],
                       {**self.knobs, "GPUSIM_HOT": "hot", "GPUSIM_CLOCK": "stepped"})
        self.assertEqual(done.returncode, 2)
        self.assertIn("GPUSIM_HOT=hot", done.stderr)

    def test_topology_must_be_one_that_is_known(self):
        done = box.run([sys.executable, "-c", "import ctypes; n = ctypes.CDLL('libnvidia-ml.so.1');"
                        "h = ctypes.c_void_p(); s = ctypes.c_int(); n.nvmlInit_v2();"
                        "n.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(h));"
                        "n.nvmlDeviceGetNvLinkState(h, 0, ctypes.byref(s))"],
                       {**self.knobs, "GPUSIM_TOPOLOGY": "ring"})
        self.assertEqual(done.returncode, 2)
        self.assertIn("GPUSIM_TOPOLOGY=ring", done.stderr)

    def test_pynvml(self):
        seen = self.seen("pynvml")
        if seen is None:
            self.skipTest(optional.lacks("pynvml"))
        self.assertEqual(seen, {"name": "Simulated Z9", "power": 70_000, "total": 16 << 30, "reserved": 0,
                                "processes": 0, "utilisation": 0})
