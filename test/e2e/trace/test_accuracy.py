"""What traces say of device times, beside the box's truth. All of it, and the table: make accuracy."""
import pathlib
import sqlite3
import statistics
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "accuracy"))
import compare  # noqa: E402
import judge  # noqa: E402
import recorded  # noqa: E402

WORKLOADS = {workload.name: workload for workload in recorded.workloads()}
FEWER = {"mixed": 200, "launch_starved": 3_000, "eight_ranks": 15, "memsets": 100, "gaps_running": 100,
         "gaps_blocked": 100}
STEADY = [name for name in WORKLOADS if name != "drifting"]


class Accuracy(unittest.TestCase):
    def test_the_workloads_are_many(self):
        self.assertGreaterEqual(len(STEADY), 20)

    def kept(self, names, **how):
        for name in names:
            with self.subTest(name):
                result = judge.everything_timed(WORKLOADS[name], steps=FEWER.get(name), **how)
                self.assertEqual(result.faults, [])
                self.assertTrue(result.windows)

    def test_everything_timed_first_half(self):
        self.kept(STEADY[::2])

    def test_everything_timed_second_half(self):
        self.kept(STEADY[1::2])

    def test_names_that_say_nothing_and_dear_events(self):
        self.kept(["launch_starved", "many_shapes", "copies_overlap", "graphs_and_kernels"], opaque=True,
                  event_factor=3)

    def test_events_that_take_longer_to_record_than_on_the_device(self):
        for record_ns, device_ns in ((6_000, 1_000), (6_000, 2_500), (2_400, 2_500)):
            with self.subTest(record_ns=record_ns, device_ns=device_ns):
                knobs = {"GPUSIM_EVENT_NS": record_ns, "GPUSIM_EVENT_LATENCY_NS": device_ns}
                errors = judge.everything_timed(WORKLOADS["copies_overlap"], **knobs).errors
                self.assertEqual(errors.outside, [])
                self.assertGreater(errors.queued_share, 0.5)
                # How much of it is the device's is not known: half is taken.
                self.assertLess(errors.worst_queued_ns, abs(record_ns / 2 - device_ns) + 200)

    def test_clocks_that_drift_and_jump(self):
        for knobs in ({"GPUSIM_CLOCK_DRIFT_PPM": 80}, {"GPUSIM_CLOCK_JUMP_US": "20000:3000"}):
            self.kept(["training", "starved_by_work"], **knobs)

    UNCALIBRATED = {"GPUSIM_NAME": "Unkind"}  # no device that the shim knows

    def unkind(self, **knobs):
        for name in ("training", "starved_by_work", "copies_overlap", "graphs_and_kernels"):
            yield judge.everything_timed(WORKLOADS[name], steps=FEWER.get(name), **knobs)

    def test_stamps_with_a_grain_and_gaps_around_kernels(self):
        """As hardware has them: within bounds, and no farther off than they are long."""
        for knobs in ({"GPUSIM_GRAIN_NS": 1024}, {"GPUSIM_GAP_NS": 1_200, **self.UNCALIBRATED},
                      {"GPUSIM_GRAIN_NS": 32, "GPUSIM_GAP_NS": 700, **self.UNCALIBRATED}):
            for result in self.unkind(**knobs):
                with self.subTest(result.label, **knobs):
                    self.assertEqual(result.errors.outside, [])
                    if result.errors.likely_share is not None:
                        self.assertGreaterEqual(result.errors.likely_share, judge.LIKELY)
                    self.assertLess(result.errors.worst_queued_ns, 1_500)
                    self.assertTrue(all(window.contains for window in result.windows))

    def test_stamps_that_show_late(self):
        """Beside copies a GPU's stamps reach the host some us late: no time is as late as that."""
        for name in ("training", "copies_overlap", "starved_by_work"):
            result = judge.everything_timed(WORKLOADS[name], steps=FEWER.get(name), GPUSIM_SEEN_LATE_NS=4_000)
            with self.subTest(result.label):
                self.assertEqual(result.errors.outside, [])
                self.assertLess(result.errors.worst_queued_ns, 1_500)

    def test_a_first_event_that_takes_long_says_nothing_of_others(self):
        """On an H200 recording it took up to 140 us: nothing that an event takes is known from it."""
        for name in ("training", "starved_by_work"):
            usual, first = (judge.everything_timed(WORKLOADS[name], steps=FEWER.get(name),
                                                   GPUSIM_FIRST_EVENT_NS=ns).errors for ns in (0, 140_000))
            with self.subTest(name):
                self.assertEqual(first.outside, [])
                most = 1.5 * statistics.median(usual.stated_ns)
                self.assertLess(statistics.median(first.stated_ns), most)

    def test_gaps_that_were_measured_are_in_no_start(self):
        """Of operations that were queued and of those that were not."""
        for workload in ("starved_by_work", "back_to_back"):
            with self.subTest(workload):
                result = judge.everything_timed(WORKLOADS[workload], GPUSIM_GAP_NS=1_200,
                                                GPUSHIM_STAMP_GAPS="1200,1250,1200,1250", **self.UNCALIBRATED)
                self.assertEqual(result.faults, [])
                for window in result.windows:
                    self.assertAlmostEqual(window.estimate, window.true, delta=judge.EXACT_SHARE)

    def test_the_trace_says_what_was_reckoned_with(self):
        """The grain and the gaps that are in the bounds, and whether these are a guess."""
        for knobs, told in (({}, (0, 0, 0, 1)), ({"GPUSIM_GRAIN_NS": 32}, (32, 0, 0, 1)),
                            ({"GPUSIM_GRAIN_NS": 1024, **self.UNCALIBRATED}, (1024, 700, 700, 0)),
                            ({"GPUSHIM_STAMP_GAPS": "1200,1250,1100,1150", **self.UNCALIBRATED},
                             (0, 1200, 1100, 1))):
            with self.subTest(**knobs), tempfile.TemporaryDirectory() as folder:
                workload = WORKLOADS["training"]
                traced, = recorded.record(folder, workload, FEWER.get("training"),
                                          **recorded.box_knobs(workload, GPUSHIM_BUDGET="100%", **knobs))
                base = sqlite3.connect(traced.trace)
                rows = base.execute("SELECT grain_ns, gap_before_ns, gap_after_ns, gaps_calibrated FROM "
                                    "v_device_clock ORDER BY mono_ns DESC LIMIT 1").fetchall()
                base.close()
                self.assertEqual(rows, [told])
                trust = recorded.report([traced.trace])["trust"]
                self.assertEqual(trust["grain_ns"], told[0])
                guesses = [row for row in trust["refusals"]
                           if "bounds of device times are estimates" in row["why"]]
                self.assertEqual(len(guesses), 1 - told[3])

    def test_a_lock_that_calls_of_ours_hold_too(self):
        for knobs in ({"GPUSIM_LOCK_NS": 300}, {"GPUSIM_LOCK_NS": 1_000},
                      {"GPUSIM_LOCK_NS": 300, "GPUSIM_GRAIN_NS": 32, "GPUSIM_GAP_NS": 700, "GPUSIM_QUEUES": 1,
                       **self.UNCALIBRATED}):
            for result in self.unkind(**knobs):
                with self.subTest(result.label, **knobs):
                    self.assertEqual(result.errors.outside, [])
                    if result.errors.likely_share is not None:
                        self.assertGreaterEqual(result.errors.likely_share, judge.LIKELY)
                    self.assertTrue(all(window.contains for window in result.windows))
                    if "GPUSIM_GAP_NS" not in knobs and knobs["GPUSIM_LOCK_NS"] < judge.LONG_LOCK_NS:
                        self.assertEqual(result.faults, [])

    def test_gaps_that_nobody_reckons_with_are_seen(self):
        """The device is taken for one that has none."""
        self.assertTrue(any(result.errors.outside for result in self.unkind(GPUSIM_GAP_NS=1_200)))

    def test_drivers_in_two_libraries_and_with_strict_handles(self):
        """Below 13.0 the box crashes where a name is asked of a handle of another kind."""
        with tempfile.TemporaryDirectory() as folder:
            forwarded = pathlib.Path(folder, "forwarded")
            two = {"LD_LIBRARY_PATH": f"{recorded.box.SIM}/two:{recorded.box.SIM}",
                   "GPUSIM_FORWARDED": forwarded}
            for knobs in (two, {"GPUSIM_VERSION": 12040}, {"GPUSIM_VERSION": 12040, **two}):
                self.kept(["library_kernels", "programmatic"], **knobs)
            self.assertIn("cuLaunchKernel ", forwarded.read_text(encoding="utf-8"))

    def test_launches_that_begin_long_before_what_is_before_them_is_over(self):
        for early_ns in (2_000, 20_000):
            with self.subTest(early_ns):
                knobs, workload = {"GPUSIM_PROGRAMMATIC_NS": early_ns}, WORKLOADS["programmatic"]
                result = judge.everything_timed(workload, **knobs)
                self.assertEqual(result.faults, [])
                self.assertGreater(result.errors.left_out, result.errors.operations / 5)
                exact = judge.everything_timed(workload, GPUSHIM_DEVICE_TIME="cupti", **knobs)
                self.assertEqual((exact.faults, exact.errors.left_out), ([], 0))
                self.assertEqual(exact.errors.worst_queued_ns, 0)

    def test_a_clock_that_another_tool_gave_cupti(self):
        """What had been read before is the truth; the rest has no times, and bounds hold."""
        for rate in (1, 3):
            with self.subTest(rate):
                result = judge.everything_timed(WORKLOADS["training"], GPUSHIM_DEVICE_TIME="cupti",
                                                GPUSHIM_LOG="error", GPUSIM_CUPTI_CLOCK=f"100000:{rate}")
                self.assertEqual((result.faults, result.errors.worst_queued_ns), ([], 0))
                self.assertGreater(result.errors.timed, 0)
                self.assertEqual(result.errors.timed + result.errors.left_out, result.errors.operations)

    def test_durations_that_vary(self):
        for share in (0.05, 0.2, 0.5):
            self.kept(["training", "starved_by_work"], GPUSIM_JITTER=share)

    def test_windows_count_by_device(self):
        workload = WORKLOADS["two_devices"]
        with tempfile.TemporaryDirectory() as folder:
            traced, = recorded.record(folder, workload, **recorded.box_knobs(workload, GPUSHIM_BUDGET="100%"))
            base = sqlite3.connect(traced.trace)
            windows = base.execute("SELECT device_id, operations, timed FROM window").fetchall()
            base.close()
        self.assertEqual({device for device, _, _ in windows}, {0, 1})
        for device, operations, timed in windows:
            self.assertEqual(operations, timed, device)

    def test_without_device_times(self):
        for name in STEADY:
            with self.subTest(name):
                found = judge.host_only(WORKLOADS[name], steps=FEWER.get(name))
                self.assertTrue(found)
                self.assertEqual([bounds for bounds in found if not bounds.contains], [])

    def test_copies_that_wait_in_their_calls_count_as_long_as_they_take(self):
        row, = judge.without_us(WORKLOADS["pageable_async"], steps=60)
        self.assertEqual(judge.faults_without_us(row), [])

    def test_the_starved_loop_does_not_read_as_busy(self):
        row, = judge.without_us(WORKLOADS["launch_starved"])
        self.assertAlmostEqual(row.true, 0.5, delta=0.05)
        self.assertEqual(judge.faults_without_us(row), [])

    def test_windows_tell_of_the_whole_run(self):
        for seed in (1, 2):
            run = judge.sampled(WORKLOADS["drifting"], seed)
            self.assertTrue(run.contains, run)
            self.assertGreaterEqual(run.windows, 8)
            self.assertLess(run.own_cost_share, 0.011)

    def test_short_runs_of_everything_at_once(self):
        for steps, seeds in ((100, range(1, 13)), (1_000, (1, 2))):
            rows = [judge.mixed(WORKLOADS["mixed"], seed, steps) for seed in seeds]
            with self.subTest(steps=steps):
                self.assertEqual(judge.faults_mixed(rows), [])
                # Seen: an estimate of a run whose certain bounds say little.
                self.assertGreater(max(row.high - row.low for row in rows), judge.MIXED_WIDTH)

    def test_what_is_wrong_with_a_run_of_everything_is_seen(self):
        good = judge.Mixed(1, 100, 0.5, 0.49, 0.51, 0.4, 0.6, 0.495, 0.99, 100_000_000)
        self.assertEqual(judge.faults_mixed([good]), [])
        for row, said in ((good._replace(estimate=0.51), "is said to be"),
                          (good._replace(low=0.497), "not in"),
                          (good._replace(likely_low=0.496), "said to be likely"),
                          (good._replace(likely_high=0.53), "wide"),
                          (good._replace(timed_share=0.9), "only 0")):
            with self.subTest(said):
                fault, = judge.faults_mixed([row])
                self.assertIn(said, fault)

    def test_a_wrong_time_would_be_seen(self):
        workload = WORKLOADS["training"]
        for column, by in (("start_offset_ns", 3_000), ("dur_ns", -3_000)):
            with tempfile.TemporaryDirectory() as folder, self.subTest(column):
                traced, = recorded.record(folder, workload, 20, GPUSHIM_BUDGET="100%",
                                          **recorded.box_knobs(workload))
                base = sqlite3.connect(traced.trace)
                with base:
                    base.execute(f"UPDATE launch_device SET {column} = {column} + ?", (by,))
                base.close()
                errors = compare.Errors()
                errors.add(traced.trace, traced.truth)
                faults = judge.faults_of(errors, [])
                self.assertTrue(any("queued operation is" in fault for fault in faults), faults)
                self.assertTrue(errors.outside)
