// Launches that may begin before the kernel before them is over, and kernels by both kinds of their handles.
#include <array>

#include "work.h"

using namespace accuracy;

namespace {

void launch_programmatic(CUfunction function, CUstream stream) {
    CUlaunchAttribute attribute = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config = {};
    config.gridDimX = 8;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = 128;
    config.hStream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CU(cuLaunchKernelEx(&config, function, nullptr, nullptr));
}

CUkernel library_kernel(int64_t duration_ns) {
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    CU(cuLibraryLoadData(&library, "an image", nullptr, nullptr, 0, nullptr, nullptr, 0));
    CU(cuLibraryGetKernel(&kernel, library, name_of(duration_ns).c_str()));
    return kernel;
}

// The same kernel twice: by its CUkernel, and by that kernel's CUfunction.
CUgraphExec by_both_handles(CUkernel kernel) {
    CUDA_KERNEL_NODE_PARAMS params = {};
    params.gridDimX = 8;
    params.gridDimY = params.gridDimZ = params.blockDimY = params.blockDimZ = 1;
    params.blockDimX = 128;
    CUgraph graph = nullptr;
    CUgraphNode first = nullptr, second = nullptr;
    CUgraphExec exec = nullptr;
    CU(cuGraphCreate(&graph, 0));
    params.kern = kernel;
    CU(cuGraphAddKernelNode(&first, graph, nullptr, 0, &params));
    params.kern = nullptr;
    CU(cuKernelGetFunction(&params.func, kernel));
    CU(cuGraphAddKernelNode(&second, graph, &first, 1, &params));
    CU(cuGraphInstantiate(&exec, graph, 0));
    return exec;
}

}  // namespace

WORKLOAD(programmatic, 1, 300, "chains of launches that overlap, between plain ones, beside another stream") {
    const std::array<CUstream, 2> streams = {make_stream(), make_stream()};
    for (int64_t i = 0; i < run.steps; ++i) {
        for (int n = 0; n < 8; ++n) launch(kernel(30 * kMicrosecond), streams[0]);
        launch(kernel(50 * kMicrosecond), streams[0]);
        launch_programmatic(kernel(20 * kMicrosecond), streams[0]);
        launch_programmatic(kernel(10 * kMicrosecond), streams[0]);
        launch(kernel(100 * kMicrosecond), streams[0]);
        launch(kernel(7 * kMicrosecond), streams[1]);
        if (i % 3 != 2) continue;
        CU(cuCtxSynchronize());
        work(300 * kMicrosecond);
    }
}

// cuLaunchKernel takes a CUkernel in the place of a CUfunction.
WORKLOAD(library_kernels, 1, 300,
         "a library's kernel by its CUkernel and by its CUfunction, also in a graph") {
    const CUstream stream = make_stream();
    const CUkernel kernel = library_kernel(20 * kMicrosecond);
    const CUgraphExec exec = by_both_handles(kernel);
    CUfunction function = nullptr;
    CU(cuKernelGetFunction(&function, kernel));
    for (int64_t i = 0; i < run.steps; ++i) {
        launch(reinterpret_cast<CUfunction>(kernel), stream);
        launch(function, stream);
        CU(cuGraphLaunch(exec, stream));
        if (i % 5 != 4) continue;
        CU(cuStreamSynchronize(stream));
        work(200 * kMicrosecond);
    }
}
