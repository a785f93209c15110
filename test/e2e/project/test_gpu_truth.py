"""What `make gpu-check` says of one run that two have recorded: on data whose truth is made here."""
import contextlib
import pathlib
import sqlite3
import sys
import unittest
from unittest import mock

import box
import kineto_made
import preload

sys.path[:0] = [str(box.ROOT / "test" / "gpu"), str(box.ROOT / "test" / "gpu" / "rows")]

import beside  # noqa: E402
import gaps  # noqa: E402
import judging  # noqa: E402
import machine as m  # noqa: E402
import operations  # noqa: E402
import truth  # noqa: E402
from operations import Operation  # noqa: E402

GUESSED = gaps.Assumed(700, 700, False)  # what the shim takes for the gaps of a GPU that it does not know
APART = 1_700_000_000_123_456_789  # their clock is so much ahead of ours
NAMES = ("mul(float*)", "add(float*)")


def both_sides(count=200, off_ns=0, longer_ns=0, queued=True):
    """Ours and theirs: a launch every 10 us. Our call is inside of theirs, as a driver's in a runtime's."""
    ours, theirs = [], []
    for i in range(count):
        enter = 1_000_000 + 10_000 * i
        start, end = enter + 8_000, enter + 13_000
        name = NAMES[i % 2]
        begin, over = start + off_ns, end + off_ns + longer_ns
        bounds = begin - 500, begin + 500, over - 500, over + 500
        ours.append(Operation("launch", name, 0, 1, enter, enter + 3_000, begin, over, queued, bounds, 400))
        theirs.append(Operation("launch", name, 0, 7, enter - 700 + APART, enter + 3_300 + i % 3 + APART,
                                start + APART, end + APART))
    return ours, theirs


class Beside(unittest.TestCase):
    def test_clocks_are_laid_together_by_the_calls(self):
        pairs = beside.match(*both_sides())
        self.assertEqual((len(pairs.pairs), pairs.share), (200, 1))
        clock = beside.clocks(pairs.pairs)
        # Between the enters' difference (700) and the exits' (-300): all pairs agree there.
        self.assertEqual((clock.offset_ns + APART, clock.error_ns, clock.agree), (200, 500, 1))

    def test_some_calls_that_disagree_do_not_move_the_clocks(self):
        ours, theirs = both_sides()
        for i in range(0, 200, 20):
            enter, left = theirs[i].enter_ns + 50_000, theirs[i].exit_ns + 50_000
            theirs[i] = theirs[i]._replace(enter_ns=enter, exit_ns=left)
        clock = beside.clocks(beside.match(ours, theirs).pairs)
        self.assertEqual((clock.offset_ns + APART, clock.agree), (200, 0.95))

    def test_which_way_it_is_off_is_told_by_length_and_each_pair_is_left(self):
        for off_ns, longer_ns in (300, 50), (-200, -1000):
            pairs = beside.match(*both_sides(off_ns=off_ns, longer_ns=longer_ns)).pairs
            (one,) = beside.biases(pairs, beside.Clocks(-APART, 0, 1))
            self.assertEqual(one, ("5 to 20 us", 200, (off_ns,) * 3, (longer_ns,) * 3))
            lines = beside.as_csv(pairs, beside.Clocks(-APART, 0, 1)).splitlines()
            self.assertEqual(len(lines), 201)
            first = f'"{NAMES[0]}",1,1000000,1003000,{1008000 + off_ns},{1013000 + off_ns + longer_ns},'
            self.assertEqual(lines[1], first + "1008000,1013000")

    def test_what_is_wrong_hides_nothing_behind_it(self):
        def row(loop, is_right):
            truth.demand(is_right, "off")
            return loop
        wrong, found = [], []
        for loop, is_right in ("first", False), ("second", True):
            found += truth.unless_wrong(wrong, row, loop, is_right)
        self.assertEqual((found, wrong), (["second"], ["first: off"]))

    def test_errors_are_what_was_put_in(self):
        ours, theirs = both_sides(off_ns=300, longer_ns=50)
        found = beside.errors(beside.match(ours, theirs).pairs, beside.Clocks(-APART, 0, 1))
        self.assertEqual((found.starts.count, found.starts.median_ns, found.durations.p95_ns), (200, 300, 50))
        self.assertEqual((found.inside, found.likely), (1, 1))
        ours, theirs = both_sides(off_ns=600)
        found = beside.errors(beside.match(ours, theirs).pairs, beside.Clocks(-APART, 0, 1))
        self.assertEqual((found.inside, found.likely), (0, 0))

    def test_what_only_one_side_has_is_not_compared(self):
        ours, theirs = both_sides()
        extra = theirs[0]._replace(name="theirs alone")
        pairs = beside.match(ours, [extra, *theirs])
        self.assertEqual((len(pairs.pairs), pairs.ones, pairs.others), (200, 200, 201))

    def test_what_a_name_leaves_out_is_told_by_time(self):
        ours, theirs = both_sides()
        pairs, clock = truth.laid_together(ours, theirs[1:])  # one of a name is gone: its order is no help
        self.assertEqual(len(pairs.pairs), 199)
        self.assertEqual({one.enter_ns - other.enter_ns + APART for one, other in pairs.pairs}, {700})
        self.assertEqual(clock.offset_ns + APART, 200)
        with self.assertRaisesRegex(AssertionError, "only 180 of 200"):
            truth.laid_together(ours, theirs[1:40:2] + theirs[40:])  # without twenty of one name
        with self.assertRaisesRegex(AssertionError, "of 200 operations of ours none"):
            truth.laid_together(ours, theirs[:180])
        without_ends = [row._replace(exit_ns=None) for row in theirs]
        with self.assertRaises(judging.Skip):
            truth.laid_together(ours, without_ends)

    def test_other_names_for_the_same_are_told_by_order(self):
        ours, theirs = both_sides()
        pairs = beside.match(ours, [row._replace(name=f"other {row.name}") for row in theirs])
        self.assertEqual(len(pairs.pairs), 200)
        self.assertEqual([one.enter_ns - other.enter_ns + APART for one, other in pairs.pairs], [700] * 200)

    def test_what_is_longer_is_told_by_name(self):
        _, before = both_sides()
        after = [row._replace(end_ns=row.end_ns + 500 * (row.name == NAMES[1])) for row in before]
        rows = {row.name: row.after_ns - row.before_ns for row in beside.longer(before, after)}
        self.assertEqual(rows, {NAMES[0]: 0, NAMES[1]: 500})
        ratio, worst = truth.lengthened(before, after)
        self.assertAlmostEqual(ratio, 1.05)
        self.assertIn("+500 ns of 5000 (add", worst)

    def test_a_union_counts_what_overlaps_once(self):
        #   |----|  |--|
        #     |---|          in [10, 50)
        self.assertEqual(beside.union_ns([(40, 60), (5, 20), (15, 30)], 10, 50), 30)


class Judged(unittest.TestCase):
    @staticmethod
    def window(queued, low, high, estimate):
        return {"from_ns": 0, "until_ns": 1000, "queued": queued, "unqueued": 100 - queued,
                "as_it_ran_low_ns": low, "as_it_ran_high_ns": high, "as_it_ran_ns": estimate}

    def test_where_most_was_queued_a_point_is_asked_for(self):
        _, figures = truth.judged(self.window(95, 300, 700, 500), 509)
        self.assertEqual(figures["profiler"], 0.509)
        with self.assertRaisesRegex(AssertionError, "more than a point: 50.00% .* profiler's 51.10%"):
            truth.judged(self.window(95, 300, 700, 500), 511)

    def test_else_the_bounds_have_to_hold(self):
        truth.judged(self.window(94, 300, 700, 500), 699)
        for true in (299, 701):
            with self.assertRaisesRegex(AssertionError, "out of its bounds"):
                truth.judged(self.window(94, 300, 700, 500), true)

    def test_a_window_needs_partners(self):
        ours, theirs = both_sides()
        window = {**self.window(100, 0, 0, 1_000_000), "from_ns": 1_000_000, "until_ns": 3_000_000,
                  "refused": False}
        report = {"windows": [{"device": 0, "windows": [window]}]}
        clock = beside.Clocks(-APART, 0, 1)
        pairs = beside.match(ours, theirs)
        row = truth.busy_row("queued", report, ours, pairs, clock)
        self.assertIn("the profiler's 49.85%", row.found)  # the last one's end is behind the window
        with self.assertRaisesRegex(AssertionError, "no window"):
            truth.busy_row("queued", report, ours, pairs._replace(pairs=pairs.pairs[:-1]), clock)

    def test_bounds_are_held_to_where_the_other_side_is_the_truth(self):
        ours, theirs = both_sides(off_ns=2_000)
        pairs = beside.match(ours, theirs)
        clock = beside.Clocks(-APART, 0, 1)
        truth.times_row("queued", "events", ours, pairs, clock, exact=False)
        with self.assertRaisesRegex(AssertionError, "out of their bounds"):
            truth.times_row("queued", "events", ours, pairs, clock, exact=True)

    def test_latencies_are_of_launches_that_found_an_empty_queue(self):
        ours, theirs = both_sides(queued=False)
        pairs = beside.match(ours, theirs)
        row, = truth.latency_rows("unqueued", {"latency_ns": 7_900}, pairs, beside.Clocks(-APART, 0, 1))
        self.assertEqual(row.figures, {"calibrated_ns": 7_900, "ours_ns": 8_000, "profiler_ns": 8_000})
        queued = beside.match(*both_sides())
        self.assertEqual([*truth.latency_rows("queued", {}, queued, beside.Clocks(0, 0, 1))], [])


class GapsAroundKernels(preload.PreloadCase):
    def test_gaps_are_what_times_are_off_by_and_what_was_taken_for_them(self):
        # Ours begin 300 ns too early and end 50 ns later than they did: 700 were taken for each gap.
        pairs = beside.match(*both_sides(off_ns=-300, longer_ns=350)).pairs
        found = gaps.measured(pairs, beside.Clocks(-APART, 20, 1), GUESSED)
        self.assertEqual(found, (1000, 1020, 750, 770, 200, 0))
        self.assertEqual(found.line("NVIDIA X"), 'CALIBRATED("NVIDIA X", 1000, 1020, 750, 770)')
        self.assertEqual(found.setting(), {"GPUSHIM_STAMP_GAPS": "1000,1020,750,770"})

    def test_a_gap_below_0_is_the_clocks_and_durations_stay_right(self):
        # Ours begin 900 ns too late and last 350 too long: of 1,750 in all the one behind has everything.
        pairs = beside.match(*both_sides(off_ns=900, longer_ns=350)).pairs
        found = gaps.measured(pairs, beside.Clocks(-APART, 20, 1), GUESSED)
        self.assertEqual(found, (0, 20, 1750, 1770, 200, 200))
        # Too early, by more than both are: that one has.
        pairs = beside.match(*both_sides(off_ns=-1500, longer_ns=350)).pairs
        found = gaps.measured(pairs, beside.Clocks(-APART, 20, 1), GUESSED)
        self.assertEqual(found, (1750, 1770, 0, 20, 200, -450))

    def test_too_little_says_nothing(self):
        clock = beside.Clocks(-APART, 0, 1)
        self.assertIsNone(gaps.measured(beside.match(*both_sides(count=99)).pairs, clock, GUESSED))
        self.assertIsNone(gaps.measured(beside.match(*both_sides(queued=False)).pairs, clock, GUESSED))
        self.assertIsNone(gaps.measured(beside.match(*both_sides()).pairs, clock, None))

    def test_the_boxs_gaps_are_found_and_its_line_holds(self):
        """A device that nobody calibrated, and what the line for it would be."""
        for gap_ns in (0, 1_200):
            with self.subTest(gap_ns):
                self.traced([box.BUILD / "gpu" / "pace", 1_000, 0, "busy__20us"], GPUSHIM_BUDGET="100%",
                            GPUSIM_TRUTH=self.folder / "truth", GPUSIM_CLOCK="stepped", GPUSIM_NAME="Unkind",
                            GPUSIM_GAP_NS=gap_ns)
                pairs, clock = truth.laid_together(operations.of_trace(self.the_trace()),
                                                   operations.of_truth(self.folder / "truth"))
                taken_for = gaps.assumed(self.the_trace())
                self.assertEqual(taken_for, GUESSED)
                measured = gaps.measured(pairs.pairs, clock, taken_for)
                row = truth.gaps_row("queued", "Simulated Unkind", measured, taken_for, clock)
                before, before_high, after, after_high, count, _ = measured
                self.assertGreater(count, 500)
                for found, most in (before, before_high), (after, after_high):
                    self.assertAlmostEqual(found, gap_ns, delta=60)
                    self.assertLessEqual(found, most)
                    self.assertLess(most, gap_ns + 200)
                line = f'CALIBRATED("Simulated Unkind", {before}, {before_high}, {after}, {after_high})'
                self.assertEqual(row.figures["line"], line)
                self.assertTrue(row.found.startswith(line), row.found)
                self.the_trace().unlink()


class JudgedAgain(preload.PreloadCase):
    """A device that nobody calibrated, and that is not as the shim takes it to be."""

    def machine(self, **knobs):
        machine = m.Machine(preload.SHIM, rehearse=True)
        self.addCleanup(machine.forget)
        machine.more = {"GPUSIM_NAME": "Unkind", "GPUSIM_GAP_NS": 1_200, **knobs}
        return machine

    def judge(self, machine, then=()):
        """Rows by name, and what is wrong. `then`: knobs of the second run."""
        bare, wrong, found = truth.Run(machine, "queued", profiler=True), [], {}
        for row in truth.by_events(machine, "queued", wrong, [], bare, bare):
            found[row.what] = row.found
            if "calibrated.def" in row.what:
                machine.more.update(then)
        return found, wrong

    def test_the_gaps_that_were_learnt_decide(self):
        machine = self.machine()
        found, wrong = self.judge(machine)
        self.assertEqual(wrong, [])
        first = found["queued: this device was never calibrated"]
        self.assertRegex(first, "^by what is taken for its gaps: queued: busy share off by more than a point")
        self.assertIn("100.0% in their bounds", found["queued learnt: times by events"])
        self.assertIn("queued learnt: busy share", found)
        self.assertIn(", or GPUSHIM_STAMP_GAPS=12", found["queued: line for shim/harvest/calibrated.def"])
        for pairs in "pairs-queued.csv", "pairs-queued-learnt.csv":
            lines = (pathlib.Path(machine.work) / pairs).read_text(encoding="utf-8").splitlines()
            self.assertGreater(len(lines), 2_900)

    def test_what_is_wrong_by_them_too_is_wrong(self):
        """Gaps that are others in the second run: no gap that is learnt holds."""
        found, wrong = self.judge(self.machine(), then={"GPUSIM_GAP_NS": 3_000})
        self.assertRegex("; ".join(wrong), "^queued learnt: queued operations out of their bounds: .*; "
                         "queued learnt: busy share off by more than a point: [^;]*$")
        self.assertNotIn("queued learnt: busy share", found)

    def test_of_a_device_that_is_calibrated_the_first_decides(self):
        found, wrong = self.judge(self.machine(GPUSIM_NAME="GPU"))
        self.assertRegex(" | ".join(wrong), "^queued: queued operations out of their bounds")
        self.assertEqual([what for what in found if "learnt" in what or "never" in what], [])

    def test_what_is_known_to_be_wrong_is_said_though_time_is_over(self):
        def judged_loops(_machine, wrong):
            yield m.Row("first", "right")
            wrong.append("it is off")
            raise m.OutOfTime("no time left")
        with mock.patch.object(truth, "judged_loops", judged_loops):
            with self.assertRaisesRegex(AssertionError, "^it is off$"):
                list(truth.check(None))

    def test_a_report_that_does_not_end_with_0_says_why(self):
        """One whose figures contradict each other, and one of a file that is no trace."""
        machine = self.machine()
        run = truth.Run(machine, "queued", truth.EVENTS)
        trace, made = run.folder / "trace.db", run.folder / "gpushim.run.db"
        self.assertEqual(machine.report("--all", run.folder).returncode, 0)
        with contextlib.closing(sqlite3.connect(made)) as base, base:
            base.execute("UPDATE rank SET unknown = -3")
        made.replace(trace)
        told = "^gpushim report ended with 3: events_add_up, process .* events produced, and "
        with self.assertRaisesRegex(AssertionError, told):
            run.report(machine)
        trace.write_text("no trace", encoding="utf-8")
        with self.assertRaisesRegex(AssertionError, "^gpushim report ended with 2: gpushim: .*trace.db"):
            run.report(machine)


class ByCupti(preload.PreloadCase):
    def test_what_was_not_timed_or_refused_is_wrong(self):
        ours, _ = both_sides()
        ours = [one._replace(level="cupti") for one in ours]
        on = operations.Source(None, None, 250, 50, 0, ours[100].enter_ns)
        self.assertEqual(truth.all_timed(ours, on),
                         "100 of 100 timed, 100 before it was on; 50 records unclaimed, 0 dropped")
        late = [one._replace(start_ns=None) if i % 16 == 0 else one for i, one in enumerate(ours)]
        events = [one._replace(level="events") for one in ours]
        for others, source in ((late, on), (events, on), (ours, on._replace(since_ns=None))):
            with self.assertRaisesRegex(AssertionError, "too few times: "):
                truth.all_timed(others, source)
        with self.assertRaisesRegex(AssertionError, "though a profiler had it: taken .error 39"):
            truth.all_timed(ours, on._replace(refused="taken", error=39))
        with self.assertRaisesRegex(judging.Skip, "no .error 35"):
            truth.all_timed(ours, on._replace(refused="no", error=truth.NOT_PERMITTED))

    def test_on_the_box(self):
        machine = m.Machine(preload.SHIM, rehearse=True)
        self.addCleanup(machine.forget)
        bare = truth.Run(machine, "unqueued", profiler=True)
        row = truth.by_cupti("unqueued", truth.Run(machine, "unqueued", truth.CUPTI), bare, bare)
        self.assertRegex(row.found, r"^(\d+) of \1 timed, \d before it was on; \d records unclaimed, 0 drop")
        self.assertEqual(row.figures["durations"], 1)
        for knobs, said in (({"GPUSIM_FAIL": "cuptiSubscribe_v2:1:39"}, "though a profiler had it"),
                            ({"GPUSIM_CUPTI_DROP": 10}, "too few times")):
            run = truth.Run(machine, "unqueued", {**truth.CUPTI, **knobs})
            with self.subTest(said), self.assertRaisesRegex(AssertionError, said):
                truth.by_cupti("unqueued", run, bare, bare)


class Read(preload.PreloadCase):
    def test_a_profile_becomes_operations(self):
        trace = kineto_made.Trace()
        trace.kernel(NAMES[0], 1_000_000, 1_010_000, 5_000)
        trace.operation("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 1_040_000, 900, 7,
                        trace.call("cudaMemcpyAsync", 1_030_000, 3_000), bytes=4096)
        first, second = operations.of_profile(trace.write(self.folder / "p.json.gz"), self.folder)
        self.assertEqual(first[:8], ("launch", NAMES[0], 0, 1, 1_000_000, 1_002_000, 1_010_000, 1_015_000))
        self.assertEqual((second.kind, second.name, second.duration_ns), ("copy", "h2d", 900))


    def test_a_run_on_the_box_beside_its_truth_as_a_profiler_would_write_it(self):
        machine = m.Machine(preload.SHIM, rehearse=True)
        self.addCleanup(machine.forget)
        run = truth.Run(machine, "unqueued", truth.EVENTS, profiler=True)
        trace, ahead = kineto_made.Trace(), 10 ** 12
        for one in run.theirs:  # its calls last 2 us: in the middle of ours
            trace.kernel(one.name, one.enter_ns + 1_000 + ahead, one.start_ns + ahead, one.duration_ns)
        theirs = operations.of_profile(trace.write(self.folder / "profile.json.gz"), self.folder)
        pairs, clock = truth.laid_together(run.ours, theirs)
        self.assertEqual((len(pairs.pairs), clock), (3_000, beside.Clocks(-ahead, 1_000, 1)))
        row = truth.times_row("unqueued", "events", run.ours, pairs, clock, exact=True)
        self.assertLess(row.figures["unqueued"]["starts"].p95_ns, 100)
        busy = truth.busy_row("unqueued", run.report(machine), run.ours, pairs, clock).figures["windows"]
        self.assertEqual([round(window["profiler"], 4) for window in busy], [0.0532])
