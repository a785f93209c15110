// Copies and memsets, alone and beside kernels.
#include "work.h"

#include <vector>

using namespace accuracy;

constexpr size_t kMegabyte = 1 << 20;

WORKLOAD(copies_overlap, 1, 200, "double-buffered: 4 MB in, a kernel of 200 us, 4 MB out, in three streams") {
    const CUstream in = make_stream(), compute = make_stream(), out = make_stream();
    const CUdeviceptr memory[2] = {device_memory(4 * kMegabyte), device_memory(4 * kMegabyte)};
    void* host = pinned_memory(8 * kMegabyte);
    CUevent filled[2], used[2], emptied[2];
    for (int i = 0; i < 2; ++i) filled[i] = make_event(), used[i] = make_event(), emptied[i] = make_event();
    for (int64_t i = 0; i < run.steps; ++i) {
        const int side = static_cast<int>(i % 2);
        if (i >= 2) CU(cuStreamWaitEvent(in, emptied[side], 0));
        CU(cuMemcpyHtoDAsync(memory[side], host, 4 * kMegabyte, in));
        CU(cuEventRecord(filled[side], in));
        CU(cuStreamWaitEvent(compute, filled[side], 0));
        launch(kernel(200 * kMicrosecond), compute);
        CU(cuEventRecord(used[side], compute));
        CU(cuStreamWaitEvent(out, used[side], 0));
        CU(cuMemcpyDtoHAsync(host, memory[side], 4 * kMegabyte, out));
        CU(cuEventRecord(emptied[side], out));
    }
    CU(cuCtxSynchronize());
}

WORKLOAD(pageable_blocking, 1, 200, "blocking copies of 256 kB from pageable memory, kernels between them") {
    const CUdeviceptr memory = device_memory(kMegabyte);
    std::vector<char> host(kMegabyte);
    for (int64_t i = 0; i < run.steps; ++i) {
        CU(cuMemcpyHtoD(memory, host.data(), kMegabyte / 4));
        for (int n = 0; n < 5; ++n) launch(kernel(20 * kMicrosecond));
        CU(cuMemcpyDtoH(host.data(), memory, kMegabyte / 4));
    }
}

WORKLOAD(pageable_async, 1, 200,
         "asynchronous copies of 256 kB and 32 kB from pageable memory, which wait, too") {
    const CUstream stream = make_stream();
    const CUdeviceptr memory = device_memory(kMegabyte);
    std::vector<char> host(kMegabyte);
    for (int64_t i = 0; i < run.steps; ++i) {
        CU(cuMemcpyHtoDAsync(memory, host.data(), kMegabyte / 4, stream));
        CU(cuMemcpyHtoDAsync(memory, host.data(), kMegabyte / 32, stream));
        for (int n = 0; n < 5; ++n) launch(kernel(20 * kMicrosecond), stream);
        CU(cuMemcpyDtoHAsync(host.data(), memory, kMegabyte / 4, stream));
    }
}

WORKLOAD(small_readbacks, 1, 2'000, "a kernel of 10 us, then 4 bytes back and a synchronisation") {
    const CUstream stream = make_stream();
    const CUdeviceptr memory = device_memory(256);
    void* host = pinned_memory(256);
    for (int64_t i = 0; i < run.steps; ++i) {
        launch(kernel(10 * kMicrosecond), stream);
        CU(cuMemcpyDtoHAsync(host, memory, 4, stream));
        CU(cuStreamSynchronize(stream));
        work(20 * kMicrosecond);
    }
}

WORKLOAD(memsets, 1, 300, "memsets of 1 MB and copies within the device, queued and not") {
    const CUstream stream = make_stream();
    const CUdeviceptr one = device_memory(4 * kMegabyte), other = device_memory(4 * kMegabyte);
    for (int64_t i = 0; i < run.steps; ++i) {
        CU(cuMemsetD8Async(one, 0, kMegabyte, stream));
        CU(cuMemcpyDtoDAsync(other, one, 4 * kMegabyte, stream));
        CU(cuMemsetD32Async(other, 0, kMegabyte, stream));
        if (i % 20 != 19) continue;
        CU(cuStreamSynchronize(stream));
        work(100 * kMicrosecond);
    }
}
