"""What was asked for is what is recorded: GPUSHIM_DELAY, _DURATION, _STEPS, _SCHEDULE, _CAPTURE, on the
stepped clock. The program launches once in a millisecond, a hundred launches are a step, the profiler is on
in steps 3 and 4."""
import box
import preload
import windows_host

SECOND = 1_000_000_000
STEPS = 10
PER_STEP = 100


class Range(windows_host.Case):
    def recorded(self, steps=True, stderr="", **knobs):
        """Numbers of the recorded launches, and of those with device times."""
        program = [self.paced(), STEPS * PER_STEP, 1_000_000 - 4_000, PER_STEP if steps else 0]
        self.traced(program, stderr=stderr, GPUSIM_TRUTH=self.folder / "truth", GPUSIM_CLOCK="stepped",
                    GPUSHIM_BUDGET="100%", **knobs)
        truth = [op.call_enter_ns for op in box.read_truth(self.folder / "truth") if op.op == "kernel"]
        number = {enter: i for i, enter in enumerate(truth)}
        trace = self.the_trace()
        self.assert_nothing_lost(trace)
        launches = [number[enter] for enter, in preload.query(trace, "SELECT enter_ns FROM launch")]
        timed = [number[enter] for enter, in preload.query(trace, "SELECT enter_ns FROM launch_device")]
        return launches, timed

    def of_steps(self, *numbers):
        return [i for n in numbers for i in range((n - 1) * PER_STEP, n * PER_STEP)]

    def switches(self):
        rows = preload.query(self.the_trace(), "SELECT kind FROM marker WHERE kind IN ('rest', 'resume')")
        return [kind for kind, in rows]

    def test_steps_are_recorded_first_and_last_included(self):
        launches, _ = self.recorded(GPUSHIM_STEPS="3:5,8")
        self.assertEqual(launches, self.of_steps(3, 4, 5, 8))
        self.assertEqual(self.switches(), ["rest", "resume", "rest", "resume", "rest"])
        # Until the first step a slot of the clock may be open: nothing ran in it.
        windows = preload.query(self.the_trace(), "SELECT slot, operations FROM window ORDER BY enter_ns")
        self.assertEqual([row for row in windows if row[0] is None], [(None, 3 * PER_STEP), (None, PER_STEP)])
        self.assertEqual({operations for slot, operations in windows if slot is not None} - {0}, set())

    def test_all_of_a_range_is_timed_whatever_the_budget(self):
        program = [self.paced(), 10_000, 96_000, 1_000]
        self.traced(program, GPUSIM_CLOCK="stepped", GPUSHIM_STEPS="4:6", GPUSHIM_BUDGET="0.01%")
        windows = preload.query(self.the_trace(), "SELECT operations, timed FROM window WHERE slot IS NULL")
        self.assertEqual([operations for operations, _ in windows], [3_000])
        self.assertGreater(windows[0][1], 2_990)

    def test_steps_are_counted_while_nothing_else_is_recorded(self):
        self.recorded(GPUSHIM_STEPS="3:5,8")
        steps = preload.query(self.the_trace(), "SELECT count(*) FROM marker WHERE kind = 'step'")
        self.assertEqual(steps, [(STEPS,)])

    def test_a_schedule_waits_warms_up_records_and_repeats(self):
        launches, _ = self.recorded(GPUSHIM_SCHEDULE="1:1:2:2")
        self.assertEqual(launches, self.of_steps(3, 4, 7, 8))

    def test_without_a_step_marked_everything_is_recorded_and_a_line_says_so(self):
        launches, _ = self.recorded(steps=False, stderr=None, GPUSHIM_STEPS="3:5")
        self.assertEqual(len(launches), STEPS * PER_STEP)
        done = self.traced([self.paced(), 10, 0, 0], stderr=None, GPUSIM_CLOCK="stepped", GPUSHIM_STEPS="3:5")
        self.assertIn("no step was marked", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_a_profiler_says_what_is_recorded(self):
        launches, timed = self.recorded(GPUSHIM_CAPTURE="profiler")
        self.assertEqual(launches, self.of_steps(3, 4))
        self.assertEqual(self.switches(), ["rest", "resume", "rest"])
        self.assertLess(len(launches) - len(timed), 10)

    def test_time_says_what_is_recorded(self):
        # The first launch is at about 0 ms of the recording, each next one a millisecond later.
        for knobs, first, last in (({"GPUSHIM_DELAY": "0.3"}, 300, 999),
                                   ({"GPUSHIM_DURATION": "0.25"}, 0, 249),
                                   ({"GPUSHIM_DELAY": "0.3", "GPUSHIM_DURATION": "0.25"}, 300, 549)):
            with self.subTest(**knobs):
                for trace in self.traces():
                    trace.unlink()
                launches, _ = self.recorded(steps=False, **knobs)
                self.assertEqual(launches, list(range(launches[0], launches[-1] + 1)))
                self.assertAlmostEqual(launches[0], first, delta=3)
                self.assertAlmostEqual(launches[-1], last, delta=3)

    def test_all_that_is_asked_must_hold(self):
        launches, _ = self.recorded(GPUSHIM_STEPS="2:3", GPUSHIM_CAPTURE="profiler")
        self.assertEqual(launches, self.of_steps(3))

    def test_names_are_known_of_what_was_made_while_it_rested(self):
        self.recorded(GPUSHIM_CAPTURE="profiler")
        self.assertEqual(preload.launches(self.the_trace()), {"busy__2us": 2 * PER_STEP})
