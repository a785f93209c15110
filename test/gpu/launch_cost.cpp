// Prints how many nanoseconds a launch takes: in the quickest of many bursts that fit in the driver's queue,
// and in the middle one; and what recording an event takes, and asking whether it is over, in the middle
// burst.
#include <cuda.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kBursts = 200;
constexpr int kEventBursts = 40;
constexpr int kLaunches = 200;
constexpr const char* kPtx = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry empty__1us()
{
    ret;
}
)";

int64_t now_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

// What one of the calls takes, in ns, by burst, in order.
template <class Call>
std::vector<double> bursts(int count, const Call& call) {
    std::vector<double> found_ns;
    for (int burst = 0; burst < count; ++burst) {
        const int64_t begin_ns = now_ns();
        for (int i = 0; i < kLaunches; ++i)
            if (call() != CUDA_SUCCESS) std::exit(1);
        found_ns.push_back(static_cast<double>(now_ns() - begin_ns) / kLaunches);
        if (cuCtxSynchronize() != CUDA_SUCCESS) std::exit(1);
    }
    std::sort(found_ns.begin(), found_ns.end());
    return found_ns;
}

}  // namespace

int main() {
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
        cuCtxSetCurrent(context) != CUDA_SUCCESS || cuModuleLoadData(&module, kPtx) != CUDA_SUCCESS ||
        cuModuleGetFunction(&function, module, "empty__1us") != CUDA_SUCCESS)
        return 1;
    CUevent event = nullptr;
    if (cuEventCreate(&event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) return 1;
    const std::vector<double> launch_ns = bursts(
        kBursts, [&] { return cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr); });
    const std::vector<double> record_ns = bursts(kEventBursts, [&] { return cuEventRecord(event, nullptr); });
    const std::vector<double> query_ns = bursts(kEventBursts, [&] { return cuEventQuery(event); });
    std::printf("min_ns %.2f median_ns %.2f record_ns %.2f query_ns %.2f\n", launch_ns.front(),
                launch_ns[kBursts / 2], record_ns[kEventBursts / 2], query_ns[kEventBursts / 2]);
    return 0;
}
