// Prints how many nanoseconds a launch takes: in the quickest of many bursts that fit in the driver's queue,
// and in the middle one.
#include <cuda.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr int kBursts = 200;
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

}  // namespace

int main() {
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
        cuCtxSetCurrent(context) != CUDA_SUCCESS || cuModuleLoadData(&module, kPtx) != CUDA_SUCCESS ||
        cuModuleGetFunction(&function, module, "empty__1us") != CUDA_SUCCESS)
        return 1;
    std::vector<double> burst_ns;
    for (int burst = 0; burst < kBursts; ++burst) {
        const int64_t begin_ns = now_ns();
        for (int i = 0; i < kLaunches; ++i)
            if (cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr) != CUDA_SUCCESS)
                return 1;
        burst_ns.push_back(static_cast<double>(now_ns() - begin_ns) / kLaunches);
        if (cuCtxSynchronize() != CUDA_SUCCESS) return 1;
    }
    std::sort(burst_ns.begin(), burst_ns.end());
    std::printf("min_ns %.2f median_ns %.2f\n", burst_ns.front(), burst_ns[kBursts / 2]);
    return 0;
}
