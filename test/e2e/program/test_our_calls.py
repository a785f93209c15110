"""What our own threads ask of the driver: nothing of a device that rests. And the driver may need much of a
stack. On the stepped clock."""
import signal

import box
import preload
import stepped_program

BUSY_S = 3
# Calls that are seen by us and ask nothing of a device.
RESTS = r"""
    const int rest_s = atoi(words[1]);
    for (int i = 0; i < BUSY * 100; ++i) {
        launch("compute__300us", stream);
        gpusim_advance_ns(10000000);
    }
    MUST(cuStreamSynchronize(stream));
    for (int i = 0; i < rest_s * 100; ++i) {
        gpusim_advance_ns(10000000);
        MUST(cuCtxSetCurrent(context));
    }
""".replace("BUSY", str(BUSY_S))
OF_A_DEVICE = ("cuEventRecord", "cuEventQuery", "cuEventElapsedTime_v2", "cuEventElapsedTime",
               "cuEventCreate")
SMALL_STACK = r"""
#include <pthread.h>
static void* ask(void* unused) {
    CUcontext current;
    MUST(cuCtxGetCurrent(&current));
    return unused;
}
static void ask_with_a_stack_of(size_t bytes) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, bytes);
    if (pthread_create(&thread, &attributes, ask, NULL) != 0) exit(2);
    pthread_join(thread, NULL);
}
"""


class Resting(preload.PreloadCase):
    def counts_of(self, program, rest_s):
        """Calls of the driver that concern a device, and the stamps that ours left in its queue."""
        for trace in self.traces():
            trace.unlink()
        truth = self.folder / "truth"
        self.traced([program, rest_s], GPUSIM_TRUTH=truth, **stepped_program.STEPPED)
        counts = box.read_counts(f"{truth}.counts")
        events = [operation.call_enter_ns for operation in box.read_truth(truth) if operation.op == "event"]
        return {name: counts[name].entered for name in OF_A_DEVICE if name in counts}, events

    def test_a_device_that_rests_is_not_woken(self):
        program = stepped_program.compiled(self.folder, RESTS)
        short, _ = self.counts_of(program, 5)
        long, events = self.counts_of(program, 35)
        # All events are ours. What was timed is read within the first second.
        self.assertGreater(len(events), BUSY_S * 100)
        self.assertEqual([ns for ns in events if ns > (1 + BUSY_S + 1) * 1_000_000_000], [])
        self.assertEqual(long, short)
        self.assertGreater(long["cuEventQuery"], 0)
        self.assertEqual(preload.query(self.the_trace(), "SELECT count(*) > 0 FROM launch_device"), [(1,)])


class Stacks(preload.PreloadCase):
    """Our threads for the driver and for NVML, where each call takes a quarter less than they have."""

    def test_a_driver_that_takes_much_of_a_stack(self):
        program = stepped_program.compiled(self.folder, RESTS)
        self.traced([program, 5], GPUSIM_STACK_KB=3072, **stepped_program.STEPPED)
        for table in "launch_device", "nvml":
            self.assertEqual(preload.query(self.the_trace(), f"SELECT count(*) > 0 FROM {table}"), [(1,)])

    def test_the_box_takes_what_the_knob_says(self):
        program = stepped_program.compiled(self.folder, "ask_with_a_stack_of(atoi(words[1]) << 10);",
                                           SMALL_STACK)
        ends = [box.run([program, kib], {"GPUSIM_STACK_KB": 1024}).returncode for kib in (512, 2048)]
        self.assertEqual(ends, [-signal.SIGSEGV, 0])
