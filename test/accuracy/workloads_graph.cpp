// Graphs: one call, many operations.
#include "work.h"

using namespace accuracy;

namespace {

CUgraphExec captured(CUstream stream, int kernels, int64_t duration_ns) {
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    const CUfunction function = kernel(duration_ns);
    CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (int n = 0; n < kernels; ++n) launch(function, stream);
    CU(cuStreamEndCapture(stream, &graph));
    CU(cuGraphInstantiate(&exec, graph, 0));
    return exec;
}

}  // namespace

WORKLOAD(graphs_queued, 1, 500, "a captured graph of 20 kernels of 10 us, launched again and again") {
    const CUstream stream = make_stream();
    const CUgraphExec exec = captured(stream, 20, 10 * kMicrosecond);
    for (int64_t i = 0; i < run.steps; ++i) {
        CU(cuGraphLaunch(exec, stream));
        if (i % 20 == 19) CU(cuStreamSynchronize(stream));
    }
}

WORKLOAD(graphs_and_kernels, 1, 500, "a graph of 5 kernels of 20 us between plain launches, with host work") {
    const CUstream stream = make_stream();
    const CUgraphExec exec = captured(stream, 5, 20 * kMicrosecond);
    for (int64_t i = 0; i < run.steps; ++i) {
        launch(kernel(50 * kMicrosecond), stream);
        CU(cuGraphLaunch(exec, stream));
        launch(kernel(10 * kMicrosecond), stream);
        if (i % 5 == 4) {
            CU(cuStreamSynchronize(stream));
            work(200 * kMicrosecond);
        }
    }
}
