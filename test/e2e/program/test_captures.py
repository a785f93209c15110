"""Captures that never end: what becomes of them is known, and device times go on as before them. On the
stepped clock."""
import preload

PROGRAM = r"""
#include "one_gpu.h"
#include <string.h>
void gpusim_advance_ns(long long ns);
static CUfunction kernel;
static void launch(CUstream stream) { launch_one(kernel, stream); }
static CUstream begin(CUstreamCaptureMode mode) {
    CUstream stream = new_stream();
    MUST(cuStreamBeginCapture(stream, mode));
    return stream;
}
int main(int count, char** words) {
    const char* what = words[1];
    CUcontext other;
    open_gpu();
    kernel = kernel_of("busy__20us");
    CUstream stream = new_stream();
    MUST(cuStreamSynchronize(stream));
    gpusim_advance_ns(100000000);
    if (!strcmp(what, "ended")) {
        CUstream captured = begin(CU_STREAM_CAPTURE_MODE_RELAXED);
        CUgraph graph;
        launch(captured);
        MUST(cuStreamEndCapture(captured, &graph));
    } else if (!strcmp(what, "stream")) {
        CUstream captured = begin(CU_STREAM_CAPTURE_MODE_RELAXED);
        launch(captured);
        MUST(cuStreamDestroy(captured));
    } else if (!strcmp(what, "context")) {
        MUST(cuCtxCreate(&other, 0, 0, 0));
        begin(CU_STREAM_CAPTURE_MODE_RELAXED);
        MUST(cuCtxDestroy(other));
    } else if (!strcmp(what, "invalid")) {
        CUstream captured = begin(CU_STREAM_CAPTURE_MODE_RELAXED);
        printf("%d ", cuStreamSynchronize(captured));
        printf("%d\n", cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, captured, 0, 0));
    } else {
        launch(begin(CU_STREAM_CAPTURE_MODE_RELAXED));
        for (int second = 0; second < 70; ++second) gpusim_advance_ns(1000000000);
    }
    for (int i = 0; i < 40; ++i) gpusim_advance_ns(50000000);
    for (int burst = 0; burst < 40; ++burst) {
        for (int i = 0; i < 50; ++i) launch(stream);
        MUST(cuStreamSynchronize(stream));
        gpusim_advance_ns(1000000);
    }
    return 0;
}
"""
LAUNCHES = 2000
# The first of a burst finds its queue empty: it gets a start event, too.
WITH_ONE_EVENT = 1900


class Captures(preload.PreloadCase):
    def setUp(self):
        super().setUp()
        self.program = preload.compiled(PROGRAM, self.folder / "program", "-l:libgpusim.so")

    def events(self, what):
        """{events of ours: operations that had so many}, and what the trace says of captures."""
        for trace in self.traces():
            trace.unlink()
        self.traced([self.program, what], GPUSIM_CLOCK="stepped", GPUSHIM_BUDGET="100%")
        trace = self.the_trace()
        self.assert_nothing_lost(trace)
        return dict(preload.query(trace, """
            SELECT events, count(*) FROM launch_device JOIN level_error e ON e.id = level_error_id GROUP BY 1
            """)), preload.query(trace, "SELECT context_id, why FROM refusal")

    def test_what_ends_a_capture(self):
        for what in "ended", "stream", "context", "invalid":
            with self.subTest(what):
                events, said = self.events(what)
                self.assertEqual(sum(events.values()), LAUNCHES)
                self.assertGreater(events.get(1, 0), WITH_ONE_EVENT)
                self.assertEqual(said, [])

    def test_one_that_stays_is_said_once(self):
        events, said = self.events("open")
        self.assertEqual(list(events), [2])
        (context, why), = said
        self.assertIn("a capture has not ended for 60 s", why)
        self.assertEqual(preload.query(self.the_trace(), "SELECT count(*) FROM context WHERE id = ?1"
                                       .replace("?1", str(context))), [(1,)])
