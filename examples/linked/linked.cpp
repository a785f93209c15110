// Sends numbers through the GPU and checks what comes back; runs kernels from PTX text on two streams and
// says whether they ran beside each other. Linked against libcuda, so its calls take the exported symbols.
#include <cuda.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace {

constexpr size_t kCount = 1 << 20;
constexpr size_t kSizeBytes = kCount * sizeof(uint32_t);
constexpr int kKernelsPerStream = 4;
constexpr uint64_t kKernelNs = 500'000;
constexpr double kKernelMs = static_cast<double>(kKernelNs) / 1e6;

// The name says how long it takes, for a simulated GPU that runs no PTX; a real one waits on its timer.
constexpr const char* kKernelName = "wait__500us";
constexpr const char* kPtx = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry wait__500us(.param .u64 wait_ns)
{
    .reg .pred %again;
    .reg .b64 %begin, %now, %want;
    ld.param.u64 %want, [wait_ns];
    mov.u64 %begin, %globaltimer;
spin:
    mov.u64 %now, %globaltimer;
    sub.u64 %now, %now, %begin;
    setp.lt.u64 %again, %now, %want;
    @%again bra spin;
    ret;
}
)";

void check(CUresult result, const char* call) {
    if (result == CUDA_SUCCESS) return;
    const char* name = nullptr;
    if (cuGetErrorName(result, &name) != CUDA_SUCCESS) name = "an unknown error";
    std::fprintf(stderr, "linked: %s returned %s\n", call, name);
    std::exit(1);
}
#define CHECK(call) check(call, #call)

CUstream make_stream() {
    CUstream stream = nullptr;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

CUevent make_event(unsigned flags = CU_EVENT_DEFAULT) {
    CUevent event = nullptr;
    CHECK(cuEventCreate(&event, flags));
    return event;
}

CUdeviceptr device_memory() {
    CUdeviceptr pointer = 0;
    CHECK(cuMemAlloc(&pointer, kSizeBytes));
    return pointer;
}

void launch(CUfunction kernel, CUstream stream) {
    uint64_t wait_ns = kKernelNs;
    void* parameters[] = {&wait_ns};
    CHECK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr));
}

CUdevice open_device(CUcontext* context) {
    CUdevice device = 0;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(context, device));
    CHECK(cuCtxSetCurrent(*context));
    char name[128];
    CHECK(cuDeviceGetName(name, sizeof(name), device));
    std::printf("device 0 is a %s\n", name);
    return device;
}

// Up on one stream, a kernel, then across to a second buffer and down again on the other stream. Only the
// event keeps the second stream from reading too early.
bool round_trip(CUfunction kernel, CUstream up, CUstream down) {
    const CUdeviceptr source = device_memory(), target = device_memory();
    const CUevent arrived = make_event(CU_EVENT_DISABLE_TIMING);
    uint32_t* pinned = nullptr;
    CHECK(cuMemAllocHost(reinterpret_cast<void**>(&pinned), kSizeBytes));
    std::iota(pinned, pinned + kCount, 0x9e3779b9u);
    std::vector<uint32_t> returned(kCount);

    CHECK(cuMemsetD8Async(source, 0xff, kSizeBytes, up));
    launch(kernel, up);
    CHECK(cuMemcpyHtoDAsync(source, pinned, kSizeBytes, up));
    CHECK(cuEventRecord(arrived, up));
    CHECK(cuStreamWaitEvent(down, arrived, 0));
    CHECK(cuMemcpyDtoDAsync(target, source, kSizeBytes, down));
    CHECK(cuMemcpyDtoHAsync(returned.data(), target, kSizeBytes, down));
    CHECK(cuStreamSynchronize(down));
    const bool same = std::equal(returned.begin(), returned.end(), pinned);

    CHECK(cuMemFreeHost(pinned));
    CHECK(cuEventDestroy(arrived));
    CHECK(cuMemFree(source));
    CHECK(cuMemFree(target));
    return same;
}

// One stream A and B, both from the same start; the time from there until both are done.
//     A  |begin| k | k | k | k |            |end|
//     B        | k | k | k | k | other done |
float side_by_side_ms(CUfunction kernel, CUstream a, CUstream b) {
    const CUevent begin = make_event(), end = make_event(), other_done = make_event(CU_EVENT_DISABLE_TIMING);
    CHECK(cuEventRecord(begin, a));
    CHECK(cuStreamWaitEvent(b, begin, 0));
    for (int i = 0; i < kKernelsPerStream; ++i) {
        launch(kernel, a);
        launch(kernel, b);
    }
    CHECK(cuEventRecord(other_done, b));
    CHECK(cuStreamWaitEvent(a, other_done, 0));
    CHECK(cuEventRecord(end, a));
    CHECK(cuEventSynchronize(end));
    float elapsed_ms = 0;
    CHECK(cuEventElapsedTime(&elapsed_ms, begin, end));
    for (const CUevent event : {begin, end, other_done}) CHECK(cuEventDestroy(event));
    return elapsed_ms;
}

}  // namespace

int main() {
    CUcontext context = nullptr;
    const CUdevice device = open_device(&context);
    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    CHECK(cuModuleLoadData(&module, kPtx));
    CHECK(cuModuleGetFunction(&kernel, module, kKernelName));
    const CUstream a = make_stream(), b = make_stream();

    const bool same = round_trip(kernel, a, b);
    std::printf("%zu bytes up, across and down again: %s\n", kSizeBytes, same ? "the same" : "CHANGED");
    const double elapsed_ms = side_by_side_ms(kernel, a, b);
    const double sum_ms = 2 * kKernelsPerStream * kKernelMs;
    std::printf("%d kernels of %g ms on two streams: %s\n", 2 * kKernelsPerStream, kKernelMs,
                elapsed_ms < 0.75 * sum_ms ? "beside each other" : "one after the other");
    std::fprintf(stderr, "they took %.3f ms\n", elapsed_ms);

    CHECK(cuStreamDestroy(a));
    CHECK(cuStreamDestroy(b));
    CHECK(cuModuleUnload(module));
    CHECK(cuDevicePrimaryCtxRelease(device));
    return same ? 0 : 1;
}
