"""Events of ours around all operations of programs that look closely: they see what they see without them."""
import pathlib

import box
import preload

SOURCES = pathlib.Path(__file__).parent / "never_disturb"
SCENARIOS = [SOURCES / name for name in ("captures.c", "answers.c", "ends.c", "newer.c")]
ALL_IS_TIMED = {"GPUSHIM_DEVICE_TIME": "events", "GPUSHIM_BUDGET": "100%", "CUDA_DEVICE_MAX_CONNECTIONS": 32,
                "COMPANY": 1}

# Linked to the driver itself and opened RTLD_DEEPBIND: what it calls, nobody in front of the driver sees.
PAST_ALL = """
#include <cuda.h>
CUresult begin_capture(CUstream stream) {
    return cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}
"""
KNOWN, UNKNOWN = 13050, 13060  # the newest version whose names we know, and a driver that may have others

# The runtime on the stand-in library: what its last error is, with work in between.
RUNTIME = f"""
import ctypes, time
runtime = ctypes.CDLL({str(box.SIM / "libcudart.so.13")!r})
memory = ctypes.c_void_p()
print(runtime.cudaSetDevice(0), runtime.cudaMalloc(ctypes.byref(memory), 4096))
for turn in range(100):
    runtime.cudaMemsetAsync(memory, turn, ctypes.c_size_t(4096), None)
    time.sleep(0.002)
print(runtime.cudaMemcpy(None, memory, ctypes.c_size_t(4096), 77))
print(runtime.cudaMemsetAsync(memory, 1, ctypes.c_size_t(4096), None))
print(runtime.cudaPeekAtLastError(), runtime.cudaGetLastError(), runtime.cudaGetLastError())
print(runtime.cudaDeviceSynchronize())
"""


class NeverDisturb(preload.PreloadCase):
    def setUp(self):
        super().setUp()
        self.program = preload.compiled((SOURCES / "program.c").read_text(encoding="utf-8"),
                                        self.folder / "program", "-Wall", "-Werror", "-I", SOURCES,
                                        *SCENARIOS)

    def alone(self, command, **knobs):
        done = box.run(command, {"GPUSIM_TRUTH": self.folder / "alone", **knobs}, cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def both(self, *command, stderr="", **knobs):
        """The output without and with us is the same, and there were events of ours; their number."""
        expected = self.alone(command, **knobs)
        done = self.traced(command, stderr=stderr, GPUSIM_TRUTH=self.folder / "truth",
                           **{**ALL_IS_TIMED, **knobs})
        self.assertEqual(done.stdout, expected)
        counts = [box.read_counts(f"{self.folder / name}.counts") for name in ("alone", "truth")]
        alone, ours = (count.get("cuEventRecord", box.Count(0, 0, 0)).entered for count in counts)
        self.assertGreater(ours, alone)
        return ours - alone

    def timed(self):
        """Operations that have device times."""
        tables = ("launch", "copy", "memset", "graph_launch")
        return sum(preload.query(self.the_trace(), f"SELECT count(*) FROM {table}_device")[0][0]
                   for table in tables)

    def legacy_events(self):
        return preload.query(self.the_trace(), "SELECT sum(legacy_events) FROM window")[0][0]

    def refusals(self):
        return preload.query(self.the_trace(), "SELECT api, error FROM refusal")

    def scenario(self, name, **knobs):
        ours = self.both(self.program, name, **knobs)
        self.assertEqual(self.refusals(), [])
        self.assertGreater(self.timed(), 0)
        return ours

    def test_captures_in_all_modes(self):
        self.scenario("capture")

    def test_captures_beside_threads_that_launch(self):
        self.scenario("beside")

    def test_the_legacy_stream_beside_captures(self):
        self.scenario("legacy")
        self.assertGreater(self.legacy_events(), 0)

    def test_calls_that_captures_forbid(self):
        self.scenario("unsafe")

    def test_answers_about_events_memory_and_contexts(self):
        self.scenario("answers")

    def test_arguments_that_are_refused(self):
        self.scenario("refused")

    def test_streams_and_contexts_that_end_with_work_under_way(self):
        self.scenario("ends")

    def test_primary_contexts_released_and_reset(self):
        self.scenario("resets")

    def test_two_devices_and_per_thread_streams(self):
        self.scenario("devices", GPUSIM_DEVICES=2)

    def test_an_error_of_a_kernel_is_told_as_ever(self):
        self.both(self.program, "fault", stderr=None)

    def test_an_error_of_ours_ends_it_and_is_said_once(self):
        expected = self.alone([self.program, "ends"])
        done = self.traced([self.program, "ends"], stderr=None, GPUSIM_FAIL="cuEventRecord:3:999",
                           GPUSIM_TRUTH=self.folder / "truth", **ALL_IS_TIMED)
        self.assertEqual(done.stdout, expected)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("cuEventRecord", done.stderr)
        self.assertEqual(self.refusals(), [("cuEventRecord", 999)])
        self.assert_nothing_lost(self.the_trace())

    def test_an_error_that_is_one_operations_own_ends_nothing(self):
        """A stream or an event that is gone by the time we use it: the others keep their device times."""
        for call in ("cuEventRecord", "cuEventQuery", "cuEventElapsedTime"):
            with self.subTest(call):
                expected = self.alone([self.program, "ends"])
                # The program itself makes none of these calls.
                nth = 40 if call == "cuEventElapsedTime" else 3
                done = self.traced([self.program, "ends"], stderr=None, GPUSIM_FAIL=f"{call}:{nth}:400",
                                   GPUSIM_TRUTH=self.folder / "truth", **ALL_IS_TIMED)
                self.assertEqual(done.stdout, expected)
                self.assertEqual(preload.query(self.the_trace(), "SELECT api, error, why FROM refusal"),
                                 [(call, 400, "our call failed: one operation has host times only")])
                self.assertIn(call, done.stderr)
                self.assertGreater(self.timed(), 5)
                self.the_trace().unlink()

    def test_a_stamp_that_is_not_there_yet_is_read_later(self):
        expected = self.alone([self.program, "ends"])
        done = self.traced([self.program, "ends"], GPUSIM_FAIL="cuEventElapsedTime:40:600",
                           GPUSIM_TRUTH=self.folder / "truth", **ALL_IS_TIMED)
        self.assertEqual(done.stdout, expected)
        self.assertEqual(self.refusals(), [])
        self.assertGreater(self.timed(), 5)

    def test_a_driver_that_refuses_us_is_said(self):
        for knob, value, row in (
                ("GPUSIM_MISSING", "cuEventElapsedTime",
                 ("cuEventElapsedTime", None, "the driver lacks it: host times only")),
                ("GPUSIM_FAIL", "cuThreadExchangeStreamCaptureMode:1:999",
                 ("cuThreadExchangeStreamCaptureMode", 999,
                  "our call failed: host times only, until it succeeds"))):
            with self.subTest(knob):
                done = self.traced([self.program, "devices"], stderr=None, **{knob: value},
                                   GPUSIM_DEVICES=2, GPUSHIM_BUDGET="100%")
                self.assertEqual(done.returncode, 0)
                self.assertEqual(preload.query(self.the_trace(), "SELECT api, error, why FROM refusal"),
                                 [row])
                self.assertIn(row[0], done.stderr)
                self.the_trace().unlink()

    def test_a_driver_that_went_with_the_process_is_no_refusal(self):
        """An exit handler of the driver's may run while the writer first looks for contexts."""
        self.traced([self.program, "devices"], GPUSIM_FAIL="cuThreadExchangeStreamCaptureMode:1:4",
                    GPUSIM_DEVICES=2, GPUSHIM_BUDGET="100%")
        self.assertEqual(self.refusals(), [])

    def test_what_newer_drivers_can_do(self):
        self.scenario("newer", GPUSIM_VERSION=KNOWN)
        trace = self.the_trace()
        self.assertEqual(preload.query(trace, "SELECT bytes FROM copy WHERE bytes BETWEEN 1001 AND 1004 "
                                              "ORDER BY enter_ns, bytes"),
                         [(1001,), (1002,), (1003,), (1004,)])
        self.assertEqual(preload.query(trace, "SELECT name, count(*) FROM call JOIN api ON api.id = api_id "
                                              "WHERE kind = 'host_call' GROUP BY 1"),
                         [("cuLaunchHostFunc_v2", 1)])
        self.assertEqual(preload.query(trace, "SELECT count(*) FROM launch WHERE flags & 1"), [(3,)])
        self.assertEqual(preload.query(trace, "SELECT value FROM meta WHERE key = 'unknown_abi'"), [(0,)])

    def test_newer_forms_of_calls_have_rows(self):
        self.scenario("newer_forms", GPUSIM_VERSION=KNOWN)
        trace = self.the_trace()
        newer = ("cuStreamBeginCaptureToCig", "cuStreamEndCaptureToCig", "cuGraphAddNode_v3",
                 "cuGraphNodeSetParams_v2", "cuMulticastBindMem_v2", "cuMulticastBindAddr_v2")
        counted = dict(preload.query(trace, "SELECT api, count(*) FROM v_call GROUP BY 1"))
        self.assertEqual({name: counted.get(name, 0) for name in newer}, dict.fromkeys(newer, 1))
        self.assertEqual(preload.query(trace, "SELECT in_graphs FROM v_kernel_executed "
                                              "WHERE kernel = 'second__3us'"), [(3,)])
        # A capture that the driver refused has not begun.
        self.assertEqual(preload.query(trace, "SELECT count(*) FROM launch WHERE flags & 1"), [(0,)])
        self.assertEqual(preload.query(trace, "SELECT value FROM meta WHERE key = 'unknown_abi'"), [(0,)])

    def test_a_driver_that_may_capture_in_ways_that_nobody_knows(self):
        past = self.folder / "past_all.so"
        preload.compiled(PAST_ALL, past, "-shared", "-fPIC")
        self.both(self.program, "hidden", GPUSIM_VERSION=UNKNOWN, PAST_ALL=past)
        self.assertEqual(preload.query(self.the_trace(), "SELECT why FROM refusal"),
                         [("the driver is newer than gpushim knows: calls may go unseen",)])
        self.assertGreater(self.timed(), 0)

    def test_without_events_on_the_legacy_stream(self):
        """Not one; elsewhere they go on."""
        self.scenario("legacy", GPUSHIM_LEGACY_EVENTS=0)
        self.assertEqual(self.legacy_events(), 0)

    def test_the_runtime_keeps_its_last_error(self):
        self.both("python3", "-c", RUNTIME)
