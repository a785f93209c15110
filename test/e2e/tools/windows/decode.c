// A server's decode loop: decode <iterations>. Each token is copied in, a graph of 20 kernels decodes it, the
// next comes out and is waited for, the host works for a moment: 2 ms of the box's time. Prints how long all
// of it took, in ns of the stepped clock.
#include "one_gpu.h"

#include <dlfcn.h>
#include <stdint.h>

extern void gpusim_advance_ns(unsigned long ns);

static uint64_t now_ns(void) {
    void (*clock)(uint64_t*, uint64_t*) =
        (void (*)(uint64_t*, uint64_t*))dlsym(RTLD_DEFAULT, "gpushim_test_clock");
    uint64_t mono_ns = 0, real_ns = 0;
    if (clock != NULL) clock(&mono_ns, &real_ns);
    return mono_ns;
}

int main(int count, char** words) {
    const long iterations = count > 1 ? atol(words[1]) : 1;
    CUgraph graph;
    CUgraphExec exec;
    CUdeviceptr token;
    int32_t* host;
    open_gpu();
    const CUfunction kernel = kernel_of("flash_fwd_splitkv_kernel__95us");
    const CUstream stream = new_stream();
    MUST(cuMemAlloc(&token, 4096));
    MUST(cuMemHostAlloc((void**)&host, 4096, 0));
    MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (int node = 0; node < 20; ++node)
        MUST(cuLaunchKernel(kernel, 132, 1, 1, 256, 1, 1, 0, stream, NULL, NULL));
    MUST(cuStreamEndCapture(stream, &graph));
    MUST(cuGraphInstantiate(&exec, graph, 0));
    const uint64_t begin_ns = now_ns();
    for (long i = 0; i < iterations; ++i) {
        MUST(cuMemcpyHtoDAsync(token, host, 64, stream));
        MUST(cuGraphLaunch(exec, stream));
        MUST(cuMemcpyDtoHAsync(host, token, 64, stream));
        MUST(cuStreamSynchronize(stream));
        gpusim_advance_ns(80000);
    }
    printf("%llu\n", (unsigned long long)(now_ns() - begin_ns));
    return 0;
}
