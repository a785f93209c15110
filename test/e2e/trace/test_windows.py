"""When operations get device times: slots of the clock, the same for all ranks, within a budget that is
held. On the stepped clock, so that every time is the same in every run."""
import box
import preload
import windows_host

SECOND = 1_000_000_000
SLOT = 10 * SECOND
BEAT = SLOT // 4
COST = """SELECT mono_ns, span_ns, busiest_ns, device_time_ns, hook_ns, writer_cpu_ns FROM cost
          ORDER BY mono_ns"""
WINDOWS = """SELECT enter_ns, dur_ns, slot, planned_ns, operations, timed, own_host_ns FROM window
             ORDER BY enter_ns"""


class Windows(windows_host.Case):
    def windows_of(self, launches, pause_ns, before_ns=0, **knobs):
        for trace in self.traces():
            trace.unlink()
        self.traced([self.paced(), launches, pause_ns, 0, before_ns],
                    **{"GPUSIM_CLOCK": "stepped", **knobs})
        trace = self.the_trace()
        self.assert_nothing_lost(trace)
        return preload.query(trace, WINDOWS)

    def test_a_little_work_is_timed_all_the_time(self):
        windows = self.windows_of(30_000, 996_000)  # 1,000 a second
        self.assertEqual([w[0] for w in windows[1:]], [SLOT, 2 * SLOT, 3 * SLOT])
        self.assertEqual([w[1] for w in windows[1:3]], [SLOT, SLOT])
        self.assertLess(windows[0][0], 1.2 * SECOND)
        self.assertEqual(windows[0][0] + windows[0][1], SLOT)
        self.assertEqual(len({w[2] for w in windows}), 4)
        for window in windows[:3]:
            self.assertEqual(window[4], window[5])

    def test_a_budget_is_held(self):
        for per_second, pause_ns in ((1_000, 996_000), (20_000, 46_000), (200_000, 1_000)):
            with self.subTest(per_second=per_second):
                windows = self.windows_of(41 * per_second, pause_ns)
                rows = preload.query(self.the_trace(), COST)
                whole = [row for row in rows if row[0] < 40.5 * SECOND]
                held = sum(row[2] for row in whole) / sum(row[1] for row in whole)
                self.assertLessEqual(held, 0.0115)  # 25 ms are there in advance
                self.assertGreater(held, 0.002)
                for window in windows[1:]:
                    self.assertEqual(window[0] % BEAT, 0)

    def test_a_budget_is_held_however_early_a_run_ends(self):
        windows = self.windows_of(8 * 20_000, 46_000)
        paid = passed = 0
        for _, span_ns, busiest_ns, *_ in preload.query(self.the_trace(), COST):
            paid, passed = paid + busiest_ns, passed + span_ns
            self.assertLess(paid, 0.01 * (passed + BEAT) + SECOND / 1000)
        # Of each 2.5 s some is timed, so that a run of a few seconds is not known by how it starts.
        self.assertEqual([window[0] for window in windows[1:]], [BEAT, 2 * BEAT, 3 * BEAT])
        for window in windows:
            self.assertGreater(window[1], SECOND / 10)

    def test_after_a_minute_each_slot_has_one_window(self):
        windows = self.windows_of(85 * 20_000, 46_000)
        late = [window for window in windows if window[0] >= 60 * SECOND]
        self.assertEqual([window[0] for window in late], [6 * SLOT, 7 * SLOT, 8 * SLOT])
        for window in late:
            self.assertIn(window[3], [int(d * SECOND) for d in (10, 5, 2.5, 1.25, 0.6)])

    def test_another_budget_is_held_too(self):
        self.windows_of(41 * 20_000, 46_000, GPUSHIM_BUDGET="4%")
        rows = preload.query(self.the_trace(), COST)
        held = sum(row[2] for row in rows) / sum(row[1] for row in rows)
        self.assertLess(held, 0.042)
        self.assertGreater(held, 0.02)

    # What events take on the device delays a token: the program waits for it.
    def test_a_decode_loop_is_slowed_by_its_budget_at_most(self):
        decode = self.decode()
        for times, seconds in ((1, 3), (1, 27), (3, 10), (3, 27), (3, 60)):
            with self.subTest(times=times, seconds=seconds):
                knobs = {"GPUSIM_CLOCK": "stepped", "GPUSIM_EVENT_NS": times * 1500,
                         "GPUSIM_EVENT_LATENCY_NS": times * 2500}
                command = [decode, seconds * 500]
                alone_ns = int(box.run(command, knobs).stdout)
                self.assertAlmostEqual(alone_ns / seconds / 1e9, 1, delta=0.01)
                slowed = int(self.traced(command, **knobs).stdout) / alone_ns - 1
                self.assertLessEqual(slowed, 0.01)
                (timed,) = preload.query(self.the_trace(), "SELECT sum(timed) FROM window")[0]
                self.assertGreater(timed, 0.5 * 3 * 500 * seconds)
                self.the_trace().unlink()

    def test_ranks_that_begin_at_different_times_have_windows_within_each_other(self):
        busy = self.windows_of(30 * 20_000, 46_000)
        calm = self.windows_of(20_000, 996_000, before_ns=7 * SECOND)
        inside = 0
        for enter, dur, slot, *_ in busy[1:]:
            for other_enter, other_dur, other_slot, *_ in calm:
                if other_slot == slot and enter % SLOT == 0:
                    inside += 1
                    self.assertEqual(enter, other_enter)
                    self.assertLessEqual(dur, other_dur)
        self.assertEqual(inside, 2)

    def test_with_the_whole_budget_everything_is_timed(self):
        windows = self.windows_of(300_000, 46_000, GPUSHIM_BUDGET="100%")
        timed = sum(window[5] for window in windows)
        self.assertGreater(timed, 299_000)
        for before, after in zip(windows, windows[1:]):
            self.assertEqual(before[0] + before[1], after[0])

    def test_windows_in_which_nothing_is_launched_count(self):
        windows = self.windows_of(5, 25 * SECOND)
        self.assertGreaterEqual(len([w for w in windows if w[4] == 0]), 6)
        for before, after in zip(windows, windows[1:]):
            self.assertEqual(before[0] + before[1], after[0])

    def test_off_times_nothing_and_takes_nothing_of_the_program(self):
        # Our questions at the start are calls on the program's thread, and here they take no time.
        box_knobs = {"GPUSIM_CALL_NS": 0, "GPUSIM_TRUTH": self.folder / "truth", "GPUSIM_CLOCK": "stepped"}
        self.assertEqual(self.windows_of(5_000, 996_000, GPUSHIM_DEVICE_TIME="off", **box_knobs), [])
        trace = self.the_trace()
        self.assertEqual(preload.query(trace, "SELECT count(*) FROM launch_device"), [(0,)])
        rows = preload.query(trace, COST)
        self.assertGreater(len(rows), 3)
        self.assertEqual(sum(row[3] for row in rows), 0)
        with_shim = (self.folder / "truth").read_bytes()
        alone = box.run([self.paced(), 5_000, 996_000], box_knobs)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        self.assertEqual((self.folder / "truth").read_bytes(), with_shim)

    def test_two_stepped_runs_have_the_same_windows_and_costs(self):
        def times():
            self.windows_of(20_000, 296_000)
            return [preload.query(self.the_trace(), rows) for rows in (WINDOWS, COST)]

        self.assertEqual(times(), times())

    def test_what_is_over_when_the_program_ends_has_device_times(self):
        windows = self.windows_of(2_000, 96_000, LEAVE=1)
        self.assertEqual(len(windows), 1)
        self.assertGreater(windows[0][4], 1_900)
        self.assertEqual(windows[0][4], windows[0][5])

    def test_samples_of_a_step_are_told(self):
        self.windows_of(10, 0, GPUSHIM_SAMPLES_PER_STEP=256)
        rows = preload.query(self.the_trace(), "SELECT value FROM meta WHERE key = 'samples_per_step'")
        self.assertEqual(rows, [(256,)])

    def test_an_idle_process_takes_next_to_nothing_of_a_core(self):
        self.windows_of(3, 3_000_000_000, GPUSIM_CLOCK="real", GPUSHIM_DEVICE_TIME="off", PAUSE="sleep")
        rows = preload.query(self.the_trace(), COST)
        self.assertLess(sum(row[5] for row in rows[2:]) / sum(row[1] for row in rows[2:]), 0.05)

    def test_costs_have_a_row_a_second(self):
        self.windows_of(10_000, 996_000)
        rows = preload.query(self.the_trace(), COST)
        for before, after in zip(rows, rows[1:]):
            self.assertEqual(after[0] - after[1], before[0])
            self.assertGreaterEqual(before[1], SECOND)
            self.assertLess(before[1], 1.1 * SECOND)

    def test_in_real_time_what_recording_takes_is_measured(self):
        self.windows_of(2_000, 1_000_000, GPUSIM_CLOCK="real", PAUSE="sleep", **preload.QUICK)
        rows = preload.query(self.the_trace(), COST)
        self.assertGreater(sum(row[4] for row in rows), 0)
        self.assertGreater(sum(row[5] for row in rows), 0)
