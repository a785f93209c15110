// Launches a graph of one kernel, waits until its record has been read, and unloads the kernel's module.
#include <cuda.h>
#include <stdio.h>

extern void gpusim_advance_ns(unsigned long ns);

int main(void) {
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    int failed = cuInit(0) || cuDeviceGet(&device, 0) || cuCtxCreate(&context, NULL, 0, device);
    failed |= cuModuleLoadData(&module, "image") || cuModuleGetFunction(&kernel, module, "busy__2us");
    failed |= cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    // The shim opens CUPTI beside us.
    for (int i = 0; i < 20 && !failed; ++i) {
        failed |= cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
        gpusim_advance_ns(50000000);
    }
    failed |= cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    failed |= cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
    failed |= cuStreamEndCapture(stream, &graph) || cuGraphInstantiate(&exec, graph, 0);
    failed |= cuGraphLaunch(exec, stream) || cuStreamSynchronize(stream);
    // Less than the 2 s for which a graph's first launch is waited for.
    for (int i = 0; i < 10 && !failed; ++i) {
        failed |= cuStreamQuery(stream);
        gpusim_advance_ns(50000000);
    }
    failed |= cuGraphExecDestroy(exec) || cuGraphDestroy(graph) || cuModuleUnload(module);
    failed |= cuCtxSynchronize();
    if (failed) puts("failed");
    return failed;
}
