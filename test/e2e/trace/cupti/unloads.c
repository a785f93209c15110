// Launches a graph of one kernel, waits until its record has been read, and unloads the kernel's module.
#include "one_gpu.h"

extern void gpusim_advance_ns(unsigned long ns);

int main(void) {
    CUgraph graph;
    CUgraphExec exec;
    open_gpu();
    const CUfunction kernel = kernel_of("busy__2us");
    const CUstream stream = new_stream();
    // The shim opens CUPTI beside us.
    for (int i = 0; i < 20; ++i) {
        launch_one(kernel, stream);
        gpusim_advance_ns(50000000);
    }
    MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch_one(kernel, stream);
    MUST(cuStreamEndCapture(stream, &graph));
    MUST(cuGraphInstantiate(&exec, graph, 0));
    MUST(cuGraphLaunch(exec, stream));
    MUST(cuStreamSynchronize(stream));
    // Less than the 2 s for which a graph's first launch is waited for.
    for (int i = 0; i < 10; ++i) {
        MUST(cuStreamQuery(stream));
        gpusim_advance_ns(50000000);
    }
    MUST(cuGraphExecDestroy(exec));
    MUST(cuGraphDestroy(graph));
    MUST(cuModuleUnload(module));
    MUST(cuCtxSynchronize());
    return 0;
}
