"""Device times by CUPTI's records (GPUSHIM_DEVICE_TIME=cupti), on the box's stand-in for the library: they
are the box's truth to the nanosecond; what keeps them away is said, and events take their place."""
import json
import pathlib
import re
import sys

import box
import preload
import windows_host

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "accuracy"))
import compare  # noqa: E402
import judge  # noqa: E402
import recorded  # noqa: E402

WORKLOADS = {workload.name: workload for workload in recorded.workloads()}
CUPTI = {"GPUSHIM_DEVICE_TIME": "cupti"}
STEPPED = {"GPUSIM_CLOCK": "stepped"}
SOURCE = """SELECT library, version, refused, error, records, unclaimed, dropped, clock_error_ns
            FROM device_source ORDER BY mono_ns DESC LIMIT 1"""
TAKEN, FORBIDDEN = 39, 35  # CUptiResult
PROGRAMS = pathlib.Path(__file__).parent / "cupti"


class Cupti(windows_host.Case):
    def source(self):
        """The newest row of device_source, or None."""
        rows = preload.query(self.the_trace(), SOURCE)
        return rows[0] if rows else None

    def levels(self):
        """{level: launches}"""
        return dict(preload.query(self.the_trace(), """
            SELECT level, count(*) FROM launch_device JOIN level_error e ON e.id = level_error_id
            GROUP BY 1"""))

    def run_paced(self, launches=2_000, stderr="", **knobs):
        for trace in self.traces():
            trace.unlink()
        self.traced([self.paced(), launches, 100_000], stderr=stderr, **{**CUPTI, **STEPPED, **knobs})
        self.assert_nothing_lost(self.the_trace())

    def exact(self, *names, **knobs):
        """Each has its times, and no time is another than the truth's."""
        for name in names:
            with self.subTest(name, **knobs):
                result = judge.everything_timed(WORKLOADS[name], **CUPTI, **knobs)
                self.assertEqual(result.faults, [])
                self.assertGreater(result.errors.timed, 0)
                self.assertEqual((result.errors.worst_queued_ns, result.errors.unqueued), (0, 0))
                for window in result.windows:
                    self.assertAlmostEqual(window.estimate, window.true, 3)

    def test_times_are_the_truth(self):
        self.exact("copies_overlap", "graphs_and_kernels", "two_devices", "memsets", "back_to_back")

    def test_an_older_library_lays_its_records_out_alike(self):
        self.exact("copies_overlap", "graphs_and_kernels", GPUSIM_CUPTI_VERSION=28)

    def test_every_node_of_a_graph_has_its_times(self):
        workload = WORKLOADS["graphs_and_kernels"]
        traced, = recorded.record(self.folder, workload, **recorded.box_knobs(workload, **CUPTI))
        said = preload.query(traced.trace, """
            SELECT launch_ns, device_start_ns, device_dur_ns, coalesce(kernel, kind) FROM v_graph_node""")
        launched = {enter for enter, *_ in said}
        true = [(o.call_enter_ns, o.start_ns, o.end_ns - o.start_ns,
                 o.name if o.op == "kernel" else "memset" if o.op == "memset" else "copy")
                for o in box.read_truth(traced.truth)
                if o.op in compare.OPERATIONS and o.call_enter_ns in launched]
        self.assertGreater(len(launched), 100)
        # Not the lists as such: what unittest says of long ones takes it hours.
        wrong = [pair for pair in zip(sorted(said), sorted(true)) if pair[0] != pair[1]]
        self.assertEqual((len(said), wrong[:3]), (len(true), []))
        (timed, launches), = preload.query(traced.trace, """
            SELECT (SELECT count(*) FROM graph_launch_device), count(*) FROM graph_launch""")
        self.assertEqual(len(launched), timed)
        self.assertLess(launches - timed, judge.UNTIMED)

    def test_nodes_of_graphs_keep_a_bounded_trace_within_its_size(self):
        workload = WORKLOADS["graphs_and_kernels"]
        traced, = recorded.record(self.folder, workload, 30_000, truth=False,
                                  **recorded.box_knobs(workload, **CUPTI, GPUSHIM_MAX_MB=4))
        self.assertLessEqual(sum(file.stat().st_size for file in self.folder.glob("trace.*")), 4 << 20)
        ended = preload.query(traced.trace, "SELECT value FROM meta WHERE key = 'ended'")
        self.assertEqual(ended, [("exit",)])
        (given, timed), = preload.query(traced.trace, "SELECT sum(operations), sum(timed) FROM window")
        self.assertEqual(given, timed)
        # Rows of nodes go with those of their launches.
        self.assertEqual(preload.query(traced.trace, """
            SELECT count(*) FROM graph_node_device WHERE enter_ns NOT IN (SELECT enter_ns FROM graph_launch)
            """), [(0,)])

    def test_in_real_time_too(self):
        """Records are of the calendar, which is read between two readings of our clock."""
        for launches in (300, 3_000, 30_000):  # on a busy machine the library is opened after many of them
            self.run_paced(launches, GPUSIM_CLOCK="real", GPUSIM_TRUTH=self.folder / "truth")
            self.assert_within_error()
            if "cupti" in self.levels():
                return
        self.fail("no launch has its times")

    def assert_within_error(self):
        true = [(o.start_ns, o.end_ns - o.start_ns) for o in box.read_truth(self.folder / "truth")
                if o.op == "kernel"]
        said = preload.query(self.the_trace(), """
            SELECT enter_ns + start_offset_ns, dur_ns, likely_ns FROM launch_device
            JOIN level_error e ON e.id = level_error_id ORDER BY 1""")
        for (start, length, error), (true_start, true_length) in zip(said, true[-len(said):]):
            self.assertLessEqual(abs(length - true_length), 1)
            self.assertLessEqual(abs(start - true_start), error)
        return said

    def test_one_window_whatever_the_budget(self):
        self.run_paced(GPUSHIM_BUDGET="0.01%")
        (given, timed), = preload.query(self.the_trace(), "SELECT sum(operations), sum(timed) FROM window")
        self.assertEqual(given, timed)
        self.assertGreater(timed, 1_900)
        self.assertEqual(self.levels(), {"cupti": timed})
        library, version, refused, error, records, unclaimed, dropped, clock = self.source()
        self.assertEqual((pathlib.Path(library).parent, version), (box.SIM, 130001))
        self.assertEqual((refused, error, dropped, clock), (None, None, 0, 0))
        self.assertEqual((records, unclaimed), (2_000, 2_000 - timed))
        report = box.run([preload.ANALYZER, "report", "--all", self.the_trace()], sim=False).stdout
        self.assertIn("device times by cupti: 1 window", report)
        self.assertIn(f"{timed:,} have CUPTI's times; 1 have host times only", report)

    def test_steps_that_were_asked_for(self):
        self.traced([self.paced(), 1_000, 100_000, 100], GPUSHIM_STEPS="5:7", **CUPTI, **STEPPED)
        self.assertEqual(self.levels(), {"cupti": 300})
        (given, timed), = preload.query(self.the_trace(), "SELECT sum(operations), sum(timed) FROM window")
        self.assertEqual((given, timed), (300, 300))

    def test_nobody_asks_for_it(self):
        self.run_paced(GPUSHIM_DEVICE_TIME="auto")
        self.assertIsNone(self.source())
        self.assertEqual(list(self.levels()), ["events"])

    def test_records_that_were_lost_are_counted(self):
        self.run_paced(GPUSIM_CUPTI_DROP=10)
        *_, records, unclaimed, dropped, _ = self.source()
        self.assertEqual((records, dropped), (1_800, 200))
        self.assertAlmostEqual(self.levels()["cupti"] + unclaimed, 1_800, delta=1)
        report = box.run([preload.ANALYZER, "report", self.the_trace()], sim=False).stdout
        self.assertIn("CUPTI had no room for 200 of 2,000 records", " ".join(report.split()))

    def test_a_graph_that_lacks_records_has_no_times(self):
        workload, errors = WORKLOADS["graphs_and_kernels"], compare.Errors()
        traced, = recorded.record(self.folder, workload,
                                  **recorded.box_knobs(workload, **CUPTI, GPUSIM_CUPTI_DROP=7))
        errors.add(traced.trace, traced.truth)
        self.assertEqual((errors.worst_queued_ns, errors.outside), (0, []))
        self.assertGreater(errors.timed, errors.operations / 4)
        self.assertLess(errors.timed, errors.operations * 0.95)

    def refused(self, why, error=None, **knobs):
        """Events instead, one line that says why, and the trace says it."""
        self.run_paced(stderr=None, **knobs)
        _, _, refused, number, records, *_ = self.source()
        self.assertIn(why, refused)
        self.assertEqual((number, records), (error, None))
        self.assertEqual(list(self.levels()), ["events"])
        return refused

    def test_what_keeps_it_away(self):
        for why, error, knobs in (
                ("another profiler holds CUPTI", TAKEN, {"GPUSIM_FAIL": f"cuptiSubscribe_v2:1:{TAKEN}"}),
                ("cuptiSubscribe failed", FORBIDDEN, {"GPUSIM_FAIL": f"cuptiSubscribe_v2:1:{FORBIDDEN}"}),
                ("cuptiActivityEnable failed", FORBIDDEN,
                 {"GPUSIM_FAIL": f"cuptiActivityEnable:3:{FORBIDDEN}"}),
                ("cuptiEnableCallback failed", 1, {"GPUSIM_FAIL": "cuptiEnableCallback:2:1"}),
                ("cuptiActivityRegisterCallbacks failed", 1,
                 {"GPUSIM_FAIL": "cuptiActivityRegisterCallbacks:1:1"}),
                ("has no cuptiActivityFlushAll", None, {"GPUSIM_MISSING": "cuptiActivityFlushAll"}),
                ("this version of CUPTI", None, {"GPUSIM_CUPTI_VERSION": 17}),
                ("this version of CUPTI", None, {"GPUSIM_CUPTI_VERSION": 140000})):
            with self.subTest(why, **knobs):
                self.refused(why, error, **knobs)
        report = box.run([preload.ANALYZER, "report", self.the_trace()], sim=False).stdout
        self.assertIn("CUPTI was not available: records of this version", " ".join(report.split()))

    def test_cupti_has_callbacks_of_every_call_that_gets_times(self):
        numbered = (box.include_folders()[0] / "cupti_driver_cbid.h").read_text(encoding="utf-8")
        named = set(re.findall(r"CUPTI_DRIVER_TRACE_CBID_(\w+)", numbered))
        hooks = json.loads(box.run([preload.ANALYZER, "doctor", "--hooks", "--json"]).stdout)["hooks"]
        timed = {hook["name"] for hook in hooks if hook["kind"] in compare.TABLES}
        self.assertGreater(len(timed), 100)
        exports = (box.ROOT / "test" / "sim" / "exports.def").read_text(encoding="utf-8")
        newer = {name for name, version in re.findall(r"^EXPORT\((\w+), .*, (\d+), \w+\)", exports, re.M)
                 if int(version) > 13000}  # than the header
        self.assertEqual(timed - named - newer, set())

    def test_without_the_stand_in(self):
        """No library at all, or a toolkit's, which does not take the box for a GPU."""
        bare = self.folder / "bare"
        bare.mkdir()
        for library in box.SIM.iterdir():
            if "cupti" not in library.name:
                (bare / library.name).symlink_to(library.resolve())
        self.refused("", self.any_error(), LD_LIBRARY_PATH=bare)

    @staticmethod
    def any_error():
        class Any:
            def __eq__(self, other):
                return other is None or other > 0
        return Any()

    def test_a_library_without_the_newer_names(self):
        self.run_paced(GPUSIM_MISSING="cuptiSubscribe_v2,cuptiActivityRegisterTimestampCallback",
                       GPUSIM_TRUTH=self.folder / "truth")
        self.assertGreater(len(self.assert_within_error()), 1_900)

    def program(self, name):
        source = (PROGRAMS / f"{name}.c").read_text(encoding="utf-8")
        return preload.compiled(source, self.folder / name, "-l:libgpusim.so")

    def test_nothing_is_asked_of_it_after_its_end(self):
        """The box's aborts then. Also where the process exits soon after it was opened."""
        for launches in (5, 30, 300):
            with self.subTest(launches):
                self.run_paced(launches)

    def other_clock(self, which):
        """Another tool registers a clock in the middle. No time is another than the truth's, whatever the
        records say; answers the newest row of device_source."""
        for trace in self.traces():
            trace.unlink()
        truth = self.folder / f"truth.{which}"
        done = self.traced([self.program("clock"), which], stderr=None, GPUSIM_TRUTH=truth,
                           **CUPTI, **STEPPED)
        self.assertEqual(done.stdout, "")
        self.assert_nothing_lost(self.the_trace())
        true = {(o.start_ns, o.end_ns) for o in box.read_truth(truth) if o.op == "kernel"}
        said = preload.query(self.the_trace(), """
            SELECT enter_ns + start_offset_ns, enter_ns + start_offset_ns + dur_ns FROM launch_device""")
        self.assertEqual([times for times in said if times not in true], [])
        self.assertEqual(list(self.levels()), ["cupti"])
        return done, preload.query(self.the_trace(), """
            SELECT refused, records, displaced FROM device_source ORDER BY mono_ns DESC LIMIT 1""")[0]

    def test_records_of_another_clock_end_cuptis_times(self):
        """As a second tool's registration does, whether that clock counts nanoseconds or not."""
        for which in "shared", "fast":
            with self.subTest(which):
                done, (refused, records, displaced) = self.other_clock(which)
                self.assertEqual(done.stderr.count("\n"), 1)
                self.assertIn("records are of another clock", done.stderr)
                self.assertIn("records are of another clock", refused)
                # What had been read before is kept; nothing that came with the others, or later.
                self.assertGreater(self.levels()["cupti"], 900)
                self.assertLessEqual(self.levels()["cupti"], 1000)
                self.assertGreater(displaced, records / 100)
                report = box.run([preload.ANALYZER, "report", self.the_trace()], sim=False).stdout
                self.assertIn("host times from then on", " ".join(report.split()))

    def test_the_box_itself_can_be_the_other_tool(self):
        self.run_paced(stderr=None, GPUSIM_CUPTI_CLOCK="100000:3", GPUSIM_TRUTH=self.folder / "truth")
        _, _, refused, _, records, *_ = self.source()
        self.assertIn("records are of another clock", refused)
        self.assertGreater(self.levels()["cupti"], 900)
        self.assertLessEqual(self.levels()["cupti"], 1000)
        self.assertEqual(records, 2_000)
        said = preload.query(self.the_trace(), "SELECT enter_ns + start_offset_ns, dur_ns FROM launch_device")
        true = {(o.start_ns, o.end_ns - o.start_ns) for o in box.read_truth(self.folder / "truth")
                if o.op == "kernel"}
        self.assertEqual([times for times in said if times not in true], [])

    def test_few_records_of_another_clock_are_left_out_and_counted(self):
        done, (refused, records, displaced) = self.other_clock("passing")
        self.assertEqual((done.stderr, refused, records, displaced), ("", None, 2005, 5))
        self.assertGreater(self.levels()["cupti"], 1990)
        self.assertLessEqual(self.levels()["cupti"], 2000)
        report = box.run([preload.ANALYZER, "report", self.the_trace()], sim=False).stdout
        self.assertIn("5 of 2,005 CUPTI records are of another clock", " ".join(report.split()))

    def subscriber(self, when):
        return self.traced([self.program("subscriber"), when], stderr=None, **CUPTI, **STEPPED)

    def test_a_name_outlives_its_module(self):
        self.traced([self.program("unloads")], **CUPTI, **STEPPED)
        self.assertEqual(preload.query(self.the_trace(), "SELECT kernel FROM v_graph_node"), [("busy__2us",)])

    def test_who_is_there_first_keeps_it(self):
        done = self.subscriber("before")
        self.assertEqual(done.stdout, "subscribed: 0\n")
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("another profiler holds CUPTI: CUPTI for an unnamed tool, error 39; events instead",
                      done.stderr)
        self.assertEqual(list(self.levels()), ["events"])

    def test_who_comes_later_is_told(self):
        self.assertEqual(self.subscriber("after").stdout, f"subscribed: {TAKEN}\n")
        self.assertEqual(list(self.levels()), ["cupti"])
