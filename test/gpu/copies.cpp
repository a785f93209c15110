// Prints the best rate of copies by kind and memory, in bytes per second, as the program's own events measure
// it: h2d_pinned N h2d_pageable N d2h_pinned N d2h_pageable N d2d_device N. Copies are so long that an event
// between them is next to nothing.
#include <cuda.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr size_t kBytes = 64 << 20;
constexpr size_t kDeviceBytes = 256 << 20;
constexpr int kCopies = 6;

void must(CUresult result) {
    if (result == CUDA_SUCCESS) return;
    const char* name = nullptr;
    cuGetErrorName(result, &name);
    std::fprintf(stderr, "%s\n", name != nullptr ? name : "an unknown error");
    std::exit(1);
}

struct Buffers {
    CUdeviceptr device = 0;
    CUdeviceptr other = 0;
    void* pinned = nullptr;
    void* pageable = nullptr;
};

template <class Copy>
void measure(const char* name, CUstream stream, size_t bytes, const Copy& copy) {
    CUevent events[kCopies + 1] = {};
    for (CUevent& event : events) must(cuEventCreate(&event, CU_EVENT_DEFAULT));
    must(copy());  // the first one touches the memory
    must(cuStreamSynchronize(stream));
    must(cuEventRecord(events[0], stream));
    for (int i = 0; i < kCopies; ++i) {
        must(copy());
        must(cuEventRecord(events[i + 1], stream));
    }
    must(cuStreamSynchronize(stream));
    float best_ms = 1e9F;
    for (int i = 0; i < kCopies; ++i) {
        float ms = 0;
        must(cuEventElapsedTime(&ms, events[i], events[i + 1]));
        best_ms = std::min(best_ms, ms);
    }
    for (CUevent event : events) must(cuEventDestroy(event));
    std::printf("%s %.0f ", name, static_cast<double>(bytes) * 1e3 / static_cast<double>(best_ms));
}

}  // namespace

int main() {
    CUcontext context = nullptr;
    CUstream stream = nullptr;
    Buffers memory;
    must(cuInit(0));
    must(cuDevicePrimaryCtxRetain(&context, 0));
    must(cuCtxSetCurrent(context));
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    must(cuMemAlloc(&memory.device, kDeviceBytes));
    must(cuMemAlloc(&memory.other, kDeviceBytes));
    must(cuMemAllocHost(&memory.pinned, kBytes));
    memory.pageable = std::malloc(kBytes);
    if (memory.pageable == nullptr) return 1;
    std::memset(memory.pinned, 1, kBytes);
    std::memset(memory.pageable, 1, kBytes);
    const CUdeviceptr device = memory.device;
    void* const hosts[] = {memory.pinned, memory.pageable};
    const char* const names[][2] = {{"h2d_pinned", "d2h_pinned"}, {"h2d_pageable", "d2h_pageable"}};
    for (int i = 0; i < 2; ++i) {
        measure(names[i][0], stream, kBytes,
                [&] { return cuMemcpyHtoDAsync(device, hosts[i], kBytes, stream); });
        measure(names[i][1], stream, kBytes,
                [&] { return cuMemcpyDtoHAsync(hosts[i], device, kBytes, stream); });
    }
    measure("d2d_device", stream, kDeviceBytes,
            [&] { return cuMemcpyDtoDAsync(memory.other, device, kDeviceBytes, stream); });
    std::printf("\n");
    std::free(memory.pageable);
    return 0;
}
