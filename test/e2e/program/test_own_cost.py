"""What the shim says it takes of the program's threads is its own, also where others take the processors."""
import os
import subprocess
import sys

import box
import preload

LAUNCHES = 150_000
PAUSE_NS = 1_000


class OwnCost(preload.PreloadCase):
    def setUp(self):
        super().setUp()
        for _ in range(2 * os.cpu_count()):
            hog = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            self.addCleanup(hog.wait)
            self.addCleanup(hog.kill)

    def test_a_clock_that_is_read_while_others_run_is_not_all_that_time(self):
        self.traced([box.BUILD / "gpu" / "pace", LAUNCHES, PAUSE_NS], GPUSIM_CLOCK="real",
                    GPUSHIM_DEVICE_TIME="off")
        trace = self.the_trace()
        spent_ns, span_ns = preload.query(trace, "SELECT sum(host_state_ns), sum(span_ns) FROM cost")[0]
        gaps, = preload.query(trace, "SELECT count(*) FROM host_gap")[0]
        self.assertGreater(gaps, 10)  # the others did take them
        self.assertLess(spent_ns / span_ns, 0.02)


# Where the program ends soon, making the trace takes the writer longer than all that is recorded.
SHORT = """
#include <cuda.h>
int main(void) {
    CUdevice device;
    CUcontext context;
    return cuInit(0) || cuDeviceGet(&device, 0) || cuCtxCreate(&context, 0, 0, device) || cuCtxSynchronize();
}
"""


class Short(preload.PreloadCase):
    def test_what_the_writer_took_before_is_of_no_span(self):
        program = preload.compiled(SHORT, self.folder / "short", "-l:libgpusim.so")
        self.traced([program], GPUSIM_CLOCK="real")
        rows = preload.query(self.the_trace(), "SELECT writer_cpu_ns, span_ns FROM cost")
        self.assertNotEqual(rows, [])
        # One thread: no more than a core. The two clocks are not read at once.
        self.assertLess(sum(row[0] for row in rows), sum(row[1] for row in rows) + 1_000_000, rows)
