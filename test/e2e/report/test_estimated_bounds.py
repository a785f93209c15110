"""Nothing is certain of a GPU whose kind was never calibrated: its trace, the report's text and JSON and the
page call its bounds estimates."""
import contextlib
import json
import sqlite3
import subprocess
import sys
import time

import box
import page_reader
import preload

NOTE = "bounds of device times are estimates: this kind of device was never calibrated"
ON_THE_PAGE = "Bounds of busy and idle time are estimates: {} never calibrated."
NO_MEMORY = "no memory for events, or too many contexts: host times only"
# Two contexts, one after the other; for events in the second there is no memory.
TWO_CONTEXTS = """
import ctypes, resource
driver = ctypes.CDLL("libcuda.so.1")
def work():
    context, stream, memory = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
    driver.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
    driver.cuStreamCreate(ctypes.byref(stream), 1)
    driver.cuMemAlloc_v2(ctypes.byref(memory), 4096)
    driver.cuMemsetD8Async(memory, 0, 4096, stream)
    driver.cuStreamSynchronize(stream)
    input()
driver.cuInit(0)
work()
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, ((pages + 16) * resource.getpagesize(), resource.RLIM_INFINITY))
work()
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""


class EstimatedBounds(preload.PreloadCase):
    def run_of(self, **knobs):
        """The run's database of 200 kernels."""
        self.traced([box.BUILD / "gpu" / "pace", 200, 0, "busy__20us"], GPUSHIM_BUDGET="100%",
                    GPUSIM_CLOCK="stepped", **knobs)
        self.said(self.folder)
        return self.folder / "gpushim.run.db"

    def said(self, *words):
        done = box.run([box.BUILD / "gpushim", "report", *words], sim=False, cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def page(self, run):
        self.said(run, "--html", self.folder / "page.html")
        text = (self.folder / "page.html").read_text(encoding="utf-8")
        self.assertEqual(page_reader.faults(text), [])
        return page_reader.Reader(text).text()

    def test_of_a_device_that_was_never_calibrated_they_are_called_that(self):
        run = self.run_of(GPUSIM_NAME="Unkind")
        trace = self.the_trace()
        self.assertEqual(preload.query(trace, "SELECT api, why FROM refusal"), [("", NOTE)])
        for words in (trace,), (run,):  # with traces and without
            text = self.said("--all", *words)
            self.assertRegex(text, r"(?m)^ESTIMATED BOUNDS +busy, where timed +busy, whole run$")
            self.assertRegex(text, r"(?m)^  not certain: this kind of GPU was never calibrated$")
            self.assertNotIn("CERTAIN ", text)
            gpu, = json.loads(self.said("--json", *words))["gpus"]
            self.assertEqual(gpu["bounds"], "estimates")
            self.assertLess(gpu["busy_share_low"], gpu["busy_share_high"])
        self.assertRegex(self.said(trace), rf"(?m)^note    process \d+: {NOTE}$")
        self.assertIn(ON_THE_PAGE.format("this GPU was"), self.page(run))

    def test_of_one_that_was_they_are_hard(self):
        for number, knobs in enumerate(({}, {"GPUSIM_NAME": "Unkind", "GPUSHIM_STAMP_GAPS": "0,100,0,100"},
                                        {"GPUSIM_NAME": "Unkind", "GPUSHIM_DEVICE_TIME": "off"})):
            with self.subTest(knobs):
                self.folder = self.folder / str(number)
                self.folder.mkdir()
                run = self.run_of(**knobs)
                text = self.said("--all", self.the_trace())
                self.assertRegex(text, r"(?m)^CERTAIN  ")
                self.assertNotIn("estimates", text)
                self.assertNotIn("ESTIMATED", text)
                self.assertEqual(json.loads(self.said("--json", run))["gpus"][0]["bounds"], "hard")
                self.assertNotIn("are estimates", self.page(run))

    def test_both_kinds_in_one_run_and_one_that_does_not_say(self):
        run = self.run_of(GPUSIM_NAME="Unkind")
        with contextlib.closing(sqlite3.connect(run)) as base, base:
            columns = [name for _, name, *_ in base.execute("PRAGMA table_info(gpu)") if name != "gpu_id"]
            calibrated = ", ".join("1" if name == "gaps_calibrated" else name for name in columns)
            base.execute(f"INSERT INTO gpu (gpu_id, {', '.join(columns)}) SELECT 7, {calibrated} FROM gpu")
        text = self.said("--all", run)
        self.assertRegex(text, r"(?m)^CERTAIN ")
        self.assertRegex(text, r"(?m)^ESTIMATED BOUNDS ")
        kinds = {gpu["gpu_id"]: gpu["bounds"] for gpu in json.loads(self.said("--json", run))["gpus"]}
        self.assertEqual(kinds, {0: "estimates", 7: "hard"})
        self.assertIn(ON_THE_PAGE.format("one of these GPUs was"), self.page(run))
        with contextlib.closing(sqlite3.connect(run)) as base, base:
            base.execute("UPDATE gpu SET gaps_calibrated = NULL WHERE gpu_id = 7")
        gpu = json.loads(self.said("--json", run))["gpus"][-1]
        self.assertIsNone(gpu["bounds"])
        self.assertIn("bounds: the trace does not say whether this GPU was calibrated", gpu["why"])
        text = self.said("--all", run)
        self.assertNotRegex(text, r"(?m)^CERTAIN ")
        self.assertRegex(text, r"(?m)^BOUNDS +busy, where timed +busy, whole run$")
        self.assertIn("\n  not certain: not recorded whether this kind of GPU was calibrated\n", text)
        with contextlib.closing(sqlite3.connect(run)) as base, base:
            base.execute("UPDATE gpu SET gaps_calibrated = 0, level = 'host' WHERE gpu_id = 7")
        self.assertEqual(json.loads(self.said("--json", run))["gpus"][-1]["bounds"], "estimates",
                         "windows that were refused have stamps in its bounds")

    def refusals(self, count):
        """What the trace says as soon as it says so much."""
        end_s = time.monotonic() + 120
        while time.monotonic() < end_s:
            with contextlib.suppress(sqlite3.OperationalError):
                for trace in self.traces():
                    said = preload.query(trace, "SELECT api, why FROM refusal ORDER BY mono_ns")
                    if len(said) >= count:
                        return said
            time.sleep(0.05)
        return self.fail(f"not {count} refusals")

    def test_what_is_of_no_call_does_not_hide_another_that_is_of_none(self):
        env = box.environment({**preload.variables(self.folder), "GPUSIM_NAME": "Unkind",
                               "GPUSHIM_BUDGET": "100%"})
        with subprocess.Popen([sys.executable, "-c", TWO_CONTEXTS], env=env, stdin=subprocess.PIPE,
                              text=True) as program:
            self.addCleanup(program.kill)
            self.assertEqual(self.refusals(1), [("", NOTE)])
            program.stdin.write("\n")
            program.stdin.flush()
            self.assertEqual(self.refusals(2), [("", NOTE), ("", NO_MEMORY)])
            program.communicate("\n")
        self.assertEqual(program.returncode, 0)
