"""Programs that choose by what they measure choose under the shim what they choose without. On the stepped
clock."""
import box
import preload
import stepped_program

BEFORE = r"""
#include <pthread.h>
static CUevent from, until;
static void launches(const char* name, int times) {
    while (times-- > 0) launch(name, stream);
}
static const char* others;
static CUcontext theirs;
static void* launches_of_others(void* times) {
    MUST(cuCtxSetCurrent(theirs));
    launches(others, *(int*)times);
    return 0;
}
/* By another thread, as backward passes are. */
static void launches_elsewhere(const char* name, int times) {
    pthread_t thread;
    others = name;
    MUST(cuCtxGetCurrent(&theirs));
    MUST(pthread_create(&thread, 0, launches_of_others, &times));
    MUST(pthread_join(thread, 0));
}
static void (*measured)(const char* name, int times) = launches;
static float measure(const char* name, int times) {
    float ms;
    launch("flush__200us", stream);
    MUST(cuEventRecord(from, stream));
    measured(name, times);
    MUST(cuEventRecord(until, stream));
    MUST(cuEventSynchronize(until));
    MUST(cuEventElapsedTime(&ms, from, until));
    return ms;
}
/* One kernel of 80 us, or ten of 7. */
static void choose(void) {
    const float one = measure("one__80us", 1), many = measure("many__7us", 10);
    printf("%s\n", one < many ? "one" : "many");
}
static void steps(int times) {
    while (times-- > 0) {
        launch("step__300us", stream);
        MUST(cuStreamSynchronize(stream));
        gpusim_advance_ns(1000000);
    }
}
"""
EVENTS = """
    MUST(cuEventCreate(&from, CU_EVENT_DEFAULT));
    MUST(cuEventCreate(&until, CU_EVENT_DEFAULT));
"""
AT_FIRST = "steps(20); choose(); choose(); steps(3000); choose(); choose();"
LATE = "steps(9000); choose(); choose();"
# Each step between two events, as training loops have it that print how long a step took.
TIMES_STEPS = """
    for (int i = 0; i < 900; ++i) {
        float ms;
        MUST(cuEventRecord(from, stream));
        launches("step__300us", 40);
        MUST(cuEventRecord(until, stream));
        MUST(cuEventSynchronize(until));
        MUST(cuEventElapsedTime(&ms, from, until));
    }
"""
# As libraries order their own streams: by events that have timing, and are made for it each time.
ORDERS_STREAMS = """
    CUevent fork, joins[2];
    CUstream others[2];
    for (int i = 0; i < 2; ++i) MUST(cuStreamCreate(&others[i], CU_STREAM_NON_BLOCKING));
    choose();
    for (int step = 0; step < 3000; ++step) {
        MUST(cuEventCreate(&fork, CU_EVENT_DEFAULT));
        launch("fork__100us", stream);
        MUST(cuEventRecord(fork, stream));
        for (int i = 0; i < 2; ++i) {
            MUST(cuEventCreate(&joins[i], CU_EVENT_DEFAULT));
            MUST(cuStreamWaitEvent(others[i], fork, 0));
            launch("beside__200us", others[i]);
            MUST(cuEventRecord(joins[i], others[i]));
        }
        for (int i = 0; i < 2; ++i) {
            MUST(cuStreamWaitEvent(stream, joins[i], 0));
            MUST(cuEventDestroy(joins[i]));
        }
        MUST(cuEventDestroy(fork));
        steps(1);
    }
"""
# So many steps, each of them begun by an event that another stream waits for.
FORKS = """
    CUevent fork;
    CUstream beside;
    MUST(cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING));
    for (int step = 0; step < %d; ++step) {
        MUST(cuEventCreate(&fork, CU_EVENT_DEFAULT));
        MUST(cuEventRecord(fork, stream));
        MUST(cuStreamWaitEvent(beside, fork, 0));
        MUST(cuEventDestroy(fork));
"""
# By a thread of its own, as backward passes are, beside a record of another thread that nobody asks for.
ORDERED_ELSEWHERE = """
static void* order_streams(void* nothing) {
    MUST(cuCtxSetCurrent(theirs));
""" + FORKS % 6000 + """
        steps(1);
    }
    return 0;
}
"""
ORDERS_ELSEWHERE = """
    pthread_t thread;
    MUST(cuEventRecord(from, stream));
    MUST(cuCtxGetCurrent(&theirs));
    MUST(pthread_create(&thread, 0, order_streams, 0));
    MUST(pthread_join(thread, 0));
"""
# Each step is longer than a sign lasts, and has a record that nobody asks for.
LONG_STEPS = FORKS % 40 + """
        MUST(cuEventRecord(from, stream));
        steps(10);
        gpusim_advance_ns(2000000000);
    }
"""
TAKEN = "gpushim: GPUSHIM_DEVICE_TIME=cupti: another profiler holds CUPTI, error 39; events instead\n"
STEPPED = {**stepped_program.STEPPED, "GPUSHIM_BUDGET": "100%"}


class Measuring(preload.PreloadCase):
    def run_both(self, body, stderr="", before=BEFORE, **more):
        program = stepped_program.compiled(self.folder, EVENTS + body, before)
        without = box.run([program], STEPPED).stdout
        return without, self.traced([program], stderr=stderr, **STEPPED, **more).stdout, self.the_trace()

    def untimed(self, trace):
        return preload.query(trace, "SELECT value FROM meta WHERE key = 'untimed_measured'")

    def test_an_autotuner_chooses_what_it_chooses_without_us(self):
        for body in (AT_FIRST, LATE):
            with self.subTest(body):
                for trace in self.traces():
                    trace.unlink()
                without, traced, trace = self.run_both(body)
                self.assertEqual(set(without.split()), {"many"})
                self.assertEqual(traced, without)
                self.assertTrue(self.untimed(trace))

    def test_also_where_cupti_was_asked_for_and_is_taken(self):
        without, traced, trace = self.run_both(AT_FIRST, stderr=TAKEN, GPUSHIM_DEVICE_TIME="cupti",
                                               GPUSIM_FAIL="cuptiSubscribe_v2:1:39")
        self.assertEqual(traced, without)
        self.assertTrue(self.untimed(trace))

    def test_also_where_another_thread_launches_into_the_stream(self):
        without, traced, trace = self.run_both("measured = launches_elsewhere;" + AT_FIRST)
        self.assertEqual(set(without.split()), {"many"})
        self.assertEqual(traced, without)
        timed = dict(preload.query(trace, "SELECT kernel, count(device_dur_ns) FROM v_launch GROUP BY 1"))
        self.assertEqual((timed["one__80us"], timed["many__7us"]), (0, 0))
        self.assertGreater(timed["step__300us"], 1000)

    def test_who_times_steps_of_several_threads_is_timed(self):
        *_, trace = self.run_both(TIMES_STEPS.replace("launches(", "launches_elsewhere("))
        (timed, launches), = preload.query(trace, "SELECT count(device_dur_ns), count(*) FROM v_launch")
        self.assertGreater(timed, 0.97 * launches)

    def test_the_rest_has_device_times(self):
        *_, trace = self.run_both(AT_FIRST)
        timed = dict(preload.query(trace, "SELECT kernel, count(device_dur_ns) FROM v_launch GROUP BY 1"))
        self.assertEqual((timed["one__80us"], timed["many__7us"]), (0, 0))
        self.assertGreater(timed["step__300us"], 1000)
        report = box.run([preload.ANALYZER, "report", trace], sim=False).stdout
        self.assertIn("the program measures with events of its own", " ".join(report.split()))

    def test_who_times_steps_is_timed(self):
        *_, trace = self.run_both(TIMES_STEPS)
        (timed, launches), = preload.query(trace, "SELECT count(device_dur_ns), count(*) FROM v_launch")
        self.assertGreater(timed, 0.98 * launches)

    def test_who_orders_streams_is_timed(self):
        *_, trace = self.run_both(ORDERS_STREAMS)
        timed = dict(preload.query(trace, "SELECT kernel, count(device_dur_ns) FROM v_launch GROUP BY 1"))
        self.assertEqual((timed["one__80us"], timed["many__7us"]), (0, 0))
        # Of two beside each other the second is launched while nobody has waited for the first one's event.
        for kernel in ("fork__100us", "beside__200us", "step__300us"):
            self.assertGreater(timed[kernel], 2000)

    def test_who_orders_streams_that_others_have_recorded_in_is_timed(self):
        *_, trace = self.run_both(ORDERS_ELSEWHERE, before=BEFORE + ORDERED_ELSEWHERE)
        (timed, launches), = preload.query(trace, "SELECT count(device_dur_ns), count(*) FROM v_launch")
        self.assertGreater(timed, launches - 5000)  # the rest: 6 s, of 1.3 ms each

    def test_who_records_in_long_steps_is_not_suspected_for_good(self):
        *_, trace = self.run_both(LONG_STEPS)
        (timed, launches), = preload.query(trace, "SELECT count(device_dur_ns), count(*) FROM v_launch")
        self.assertGreater(timed, 0.8 * launches)
