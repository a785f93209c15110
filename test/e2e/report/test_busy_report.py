"""How busy each GPU was, and how far that can be trusted: what the report makes of device times, of too few
of them, and of none."""
import contextlib
import json
import sqlite3

import box
import cli
import made_traces

SCHEMA_1 = box.ROOT / "test" / "golden" / "schema_1.sql"


class BusyReport(cli.Case):
    def report(self):
        return self.gpushim("report", "--all", self.folder).stdout

    def answer(self):
        return json.loads(self.gpushim("report", self.folder, "--json").stdout)

    def line_of(self, beginning):
        return next(line for line in self.report().splitlines() if line.strip().startswith(beginning))

    def change(self, sql):
        """Closed after it: a trace that somebody has open may be written yet."""
        with contextlib.closing(sqlite3.connect(self.folder / "a.db")) as base, base:
            base.executescript(sql)

    def test_without_device_times_there_are_bounds(self):
        """Nobody waits for anything until the one wait, which is over 9.5 ms after the first launch; then the
        device is idle to the end, at 12.5 ms."""
        made_traces.make(self.folder / "a.db")
        self.change(f"INSERT INTO clock VALUES ({made_traces.FIRST_NS + 12_500_000}, 0, 0)")
        gpu = self.answer()["gpus"][0]
        self.assertIsNone(gpu["busy_share"])
        self.assertEqual(gpu["why"], "device times are not recorded")
        self.assertEqual((gpu["level"], gpu["busy_share_low"]), ("host", 0))
        self.assertEqual(gpu["window_ns"], 12_500_000)
        self.assertAlmostEqual(gpu["busy_share_high"], 9.5 / 12.5, places=6)
        self.assertEqual(gpu["busy_share_high"], self.answer()["windows"][0]["busy_share_high"])
        self.assertIn("at most", self.line_of("rank 0"))
        self.assertIn("how long the GPU worked is not recorded", self.line_of("trust"))

    def test_device_times_give_a_figure_with_its_range(self):
        made_traces.make(self.folder / "a.db")
        made_traces.add_device_times(self.folder / "a.db")
        answer = self.answer()
        gpu = answer["windows"][0]
        self.assertEqual(gpu["level"], "events")
        self.assertTrue(gpu["sampled"])
        window = gpu["windows"][0]
        self.assertEqual((window["queued"], window["unqueued"]), (50, 50))
        self.assertEqual(window["until_ns"] - window["from_ns"], 2_000_000)
        # 50 of 5 us to the ns and 50 of 5 us, each within 1 us at both ends.
        self.assertEqual(window["as_it_ran_low_ns"], 50 * 5000 + 50 * 3000)
        self.assertEqual(window["as_it_ran_ns"], 500_000)
        self.assertGreaterEqual(window["as_it_ran_high_ns"], 50 * 5000 + 50 * 7000)
        # own_ns is 15 ns an event, so 100 launches come 3 us earlier in all.
        self.assertEqual(window["busy_ns"], 500_000)
        self.assertAlmostEqual(window["window_ns"], 2_000_000 - 3_000, delta=50)
        self.assertLess(window["busy_share_low"], 500_000 / window["window_ns"])
        self.assertGreater(window["busy_share_high"], 500_000 / window["window_ns"])
        self.assertLessEqual(gpu["busy_share_low"], gpu["busy_share"])
        self.assertLessEqual(gpu["busy_share"], gpu["busy_share_high"])
        self.assertAlmostEqual(gpu["idle_share"], 1 - gpu["busy_share"])
        # The last call is over after 12.003 ms: that is the run, of which the window is a sixth.
        self.assertAlmostEqual(gpu["timed_share"], 2 / 12.003)
        said = answer["gpus"][0]
        for key in ("busy_share", "busy_share_low", "busy_share_high", "busy_share_likely_low",
                    "busy_share_likely_high"):
            self.assertAlmostEqual(said[f"run_{key}"], gpu[key], msg=key)
        self.assertEqual((said["level"], said["sampled"]), ("events", True))
        self.assertAlmostEqual(said["idle_share"], 1 - said["busy_share"])
        self.assertRegex(self.line_of("rank 0"),
                         r"75\.0 % \(\d+\.\d–\d+\.\d\) +25\.0 % \(\d\.\d–\d+\.\d\)  spans")

    def test_trust_says_what_is_behind_the_figures(self):
        made_traces.make(self.folder / "a.db")
        made_traces.add_device_times(self.folder / "a.db")
        self.change("INSERT INTO refusal VALUES (7, 1, 'cuEventRecord', 999, 'the driver said no');"
                    "INSERT INTO meta VALUES ('budget_ppm', 10000)")
        trust = self.answer()["trust"]
        self.assertEqual(trust["refusals"], [{"trace": "rank 0", "api": "cuEventRecord", "error": 999,
                                              "why": "the driver said no"}])
        self.assertEqual((trust["level"], trust["windows"]), ("events", 1))
        # One of the copies is in the window, too. The last call is over after 12.003 ms.
        self.assertAlmostEqual(trust["coverage"], 100 / 101)
        self.assertAlmostEqual(trust["timed_share"], 2 / 12.003)
        # From the call on, which takes 4,049 ns.
        self.assertEqual((trust["clock_error_ns"], trust["latency_ns"]), (250, 8049))
        self.assertEqual((trust["own_cost_share"], trust["budget"]), (0.008, 0.01))
        self.assertEqual(trust["operations"], {"queued": 50, "unqueued": 50, "host": 4})
        self.assertEqual(trust["legacy_events"], 2)
        text = self.report()
        for said in ("device times by events: 1 window, 16.7 % of the run, 99.0 % of the operations in that",
                     "50 waited in their queue: measured; 50 did not: estimated, with bounds; 4 have",
                     "clock ±250 ns; launch latency 8.05 us",
                     "own cost 0.80 % of the busiest thread's time (budget 1.0 %);",
                     "; the writer took 4.0 % of a core",
                     "2 events of gpushim on the legacy stream",
                     "device times: cuEventRecord: the driver said no"):
            self.assertIn(said, text)

    def test_events_on_the_legacy_stream_are_noted_where_another_stream_waits_for_them(self):
        made_traces.make(self.folder / "a.db")
        made_traces.add_device_times(self.folder / "a.db")
        self.assertIn("2 events of gpushim on the legacy stream", self.report())
        self.change("UPDATE stream SET flags = 1")  # it does not wait for the legacy stream
        self.assertNotIn("on the legacy stream", self.report())
        self.assertEqual(self.answer()["trust"]["legacy_events"], 2)

    def test_the_grain_of_stamps_is_said_and_older_traces_have_none(self):
        made_traces.make(self.folder / "a.db")
        made_traces.add_device_times(self.folder / "a.db")
        self.assertEqual(self.answer()["trust"]["grain_ns"], 0)
        self.assertNotIn("multiples", self.report())
        self.change("UPDATE device_clock SET grain_ns = 1024")
        self.assertEqual(self.answer()["trust"]["grain_ns"], 1024)
        self.assertIn("stamps are multiples of 1.02 us; the bounds include this", self.report())
        self.change("DROP VIEW v_device_clock; ALTER TABLE device_clock RENAME COLUMN grain_ns TO no_grain;"
                    "DROP TABLE unanswered")
        trust = self.answer()["trust"]
        self.assertIsNone(trust["grain_ns"])
        self.assertIn("grain_ns: not recorded", trust["why"])
        self.assertEqual(trust["unanswered"], [])
        self.assertNotIn("multiples", self.report())

    def test_what_the_driver_did_not_answer_is_said(self):
        made_traces.make(self.folder / "a.db")
        made_traces.add_device_times(self.folder / "a.db")
        self.change("INSERT INTO unanswered VALUES (7, 'cuDeviceGetName', 999, 'the names of devices');"
                    "INSERT INTO unanswered VALUES (8, 'NVML', NULL, 'what NVML shows')")
        self.assertEqual(self.answer()["trust"]["unanswered"],
                         [{"trace": "rank 0", "api": "cuDeviceGetName", "error": 999,
                           "unknown": "the names of devices"},
                          {"trace": "rank 0", "api": "NVML", "error": "none", "unknown": "what NVML shows"}])
        text = self.report()
        self.assertIn("note    rank 0: not known: the names of devices (cuDeviceGetName returned 999)", text)
        self.assertIn("note    rank 0: not known: what NVML shows (NVML is not there)", text)

    def test_a_latency_that_was_not_calibrated_is_said(self):
        made_traces.make(self.folder / "a.db")
        made_traces.add_device_times(self.folder / "a.db")
        self.change("UPDATE device_clock SET latency_ns = NULL")
        self.assertIn("launch latency 4.05 us, not calibrated", self.report())
        self.assertEqual(self.answer()["trust"]["latency_ns"], self.answer()["launch"][0]["latency_p50_ns"])

    def test_too_little_coverage_is_marked_and_then_refused(self):
        for timed, marked, refused in ((100, False, False), (95, True, False), (80, True, True)):
            with self.subTest(timed=timed):
                path = self.folder / "a.db"
                path.unlink(missing_ok=True)
                made_traces.make(path)
                made_traces.add_device_times(path, timed=timed)
                answer = self.answer()
                few = "too few of the operations in the windows have device times"
                for gpu in answer["gpus"][0], answer["windows"][0]:
                    self.assertEqual(gpu["busy_share"] is None, refused)
                    self.assertEqual(gpu["why"] == few, refused, gpu["why"])
                    self.assertEqual(few in self.report(), refused)
                # One of the copies is in the window, too.
                self.assertAlmostEqual(gpu["coverage"], timed / 101)
                share = f"{100 * timed / 101:.1f} %"
                said = f"of the operations of rank 0 in timed spans {share} have device times"
                self.assertEqual(said in self.report(), marked)

    def test_views_show_how_sure_each_row_is(self):
        made_traces.make(self.folder / "a.db")
        made_traces.add_device_times(self.folder / "a.db", timed=99)
        with sqlite3.connect(self.folder / "a.db") as base:
            rows = base.execute("SELECT level, queued, device_start_ns - enter_ns, start_low_ns - enter_ns,"
                                " end_high_ns - enter_ns, likely_error_ns FROM v_launch").fetchall()
            self.assertEqual(rows[0], ("events", 1, 8000, 8000, 13_000, 100))
            self.assertEqual(rows[98], ("events", 0, 8000, 7000, 14_000, 500))
            self.assertEqual(rows[99], ("host", None, None, 0, None, None))
            counts = base.execute("SELECT kind, level, count(*), count(device_end_ns) FROM v_operation"
                                  " GROUP BY 1, 2 ORDER BY 1, 2").fetchall()
            self.assertEqual(counts,
                             [("copy", "host", 4, 0), ("launch", "events", 99, 99), ("launch", "host", 1, 0)])
            self.assertEqual(base.execute("SELECT coverage FROM v_window").fetchone(), (0.99,))
            self.assertEqual(base.execute("SELECT own_share, writer_share FROM v_cost").fetchone(),
                             (0.008, 0.04))
            self.assertEqual(base.execute("SELECT device, error_ns FROM v_device_clock").fetchone(),
                             ("Simulated GPU", 250))
            base.execute("UPDATE launch SET flags = 1 WHERE enter_ns = ?", (made_traces.FIRST_NS + 990_000,))
            self.assertEqual(base.execute("SELECT level, start_low_ns FROM v_launch").fetchall()[99],
                             (None, None))

    def test_the_schema_before_is_still_read(self):
        made_traces.make(self.folder / "a.db", schema=[SCHEMA_1])
        answer = self.answer()
        self.assertEqual(answer["ledger"]["recorded"], 117)
        self.assertEqual((answer["trust"]["level"], answer["gpus"][0]["level"]), ("host", "host"))
        self.assertIn("coverage, timed_share, windows, operations: device times are not recorded;",
                      answer["trust"]["why"])
        self.assertIsNone(answer["trust"]["operations"]["host"])
        self.assertIsNone(answer["gpus"][0]["busy_share"])
        self.assertIn("is not recorded", self.line_of("trust"))


# Kernels of 2 us as fast as the host launches them. With our events in it, a launch takes the host longer.
STARVED = """
import ctypes
cu = ctypes.CDLL("libcuda.so.1")
context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
stream = ctypes.c_void_p()
assert cu.cuInit(0) == 0
assert cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and cu.cuCtxSetCurrent(context) == 0
assert cu.cuModuleLoadData(ctypes.byref(module), b"an image") == 0
assert cu.cuModuleGetFunction(ctypes.byref(function), module, b"little__2us") == 0
assert cu.cuStreamCreate(ctypes.byref(stream), 1) == 0
for _ in range(10000):
    assert cu.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, None, None) == 0
assert cu.cuStreamSynchronize(stream) == 0
"""


class OnTheBox(cli.Case):
    def busy_of_truth(self, path, start_ns, end_ns):
        kernels = [row for row in box.read_truth(path) if row.op == "kernel"]
        return sum(max(0, min(row.end_ns, end_ns) - max(row.start_ns, start_ns)) for row in kernels)

    def test_a_launch_starved_loop_does_not_read_as_busy(self):
        truth = self.folder / "truth"
        program = ["python3", "-c", STARVED]
        stepped = {"GPUSIM_CLOCK": "stepped", "GPUSIM_TRUTH": truth}
        box.run(program, stepped)
        rows = [row for row in box.read_truth(truth) if row.op == "kernel"]
        start_ns, end_ns = rows[0].call_enter_ns, rows[-1].end_ns
        without_us = self.busy_of_truth(truth, start_ns, end_ns) / (end_ns - start_ns)
        self.assertAlmostEqual(without_us, 0.5, delta=0.01)

        truth.unlink()
        self.assertEqual(self.traced(*program, GPUSHIM_BUDGET="100%", **stepped).returncode, 0)
        answer = json.loads(self.gpushim("report", self.folder, "--json").stdout)
        gpu = answer["gpus"][0]
        self.assertAlmostEqual(gpu["busy_share"], without_us, delta=0.05)
        self.assertLessEqual(gpu["busy_share_low"], without_us)
        self.assertGreaterEqual(gpu["busy_share_high"], without_us)
        self.assertLess(gpu["run_busy_share_likely_high"], 0.7)
        gpu = answer["windows"][0]
        self.assertAlmostEqual(gpu["busy_share"], without_us, delta=0.05)
        self.assertLess(gpu["busy_share_likely_high"], 0.7)
        for window in gpu["windows"]:
            ran_ns = self.busy_of_truth(truth, window["from_ns"], window["until_ns"])
            self.assertLessEqual(window["as_it_ran_low_ns"], ran_ns)
            self.assertGreaterEqual(window["as_it_ran_high_ns"], ran_ns)

    def test_without_device_times_the_truth_is_in_the_bounds(self):
        truth = self.folder / "truth"
        done = self.traced("python3", cli.TRAIN, "--ranks", 1, "--steps", 20, GPUSHIM_DEVICE_TIME="off",
                           GPUSIM_CLOCK="stepped", GPUSIM_TRUTH=truth)
        self.assertEqual(done.returncode, 0, done.stderr)
        gpu = json.loads(self.gpushim("report", self.folder, "--json").stdout)["gpus"][0]
        self.assertIsNone(gpu["busy_share"])
        spans, busy_ns, until_ns = [], 0, 0
        for row in box.read_truth(truth):
            if row.op in ("kernel", "h2d", "d2h", "d2d", "p2p", "memset"):
                spans.append((row.start_ns, row.end_ns))
        for start_ns, end_ns in sorted(spans):
            busy_ns += max(0, end_ns - max(start_ns, until_ns))
            until_ns = max(until_ns, end_ns)
        share = busy_ns / gpu["window_ns"]
        self.assertGreater(share, 0.1)
        self.assertLessEqual(gpu["busy_share_low"], share)
        self.assertGreaterEqual(gpu["busy_share_high"], share)
        self.assertLess(gpu["busy_share_high"], 1)
