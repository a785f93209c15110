// Launches at a pace, with host work after each: always the same work, so what it takes longer under the shim
// is what the shim costs. Prints how long it took, and the mean of a launch and its host work without those
// that something else interrupted (more than twice the median). On the box's stepped clock these are its
// times.
//
//   pace LAUNCHES NS [KERNEL]      busy__2us, which on a GPU does nothing, or busy__20us
#include <cuda.h>
#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "spin.h"

namespace {

constexpr const char* kPtx = PTX_HEAD PTX_EMPTY("busy__2us") PTX_SPIN("busy__20us", "20000");

template <class Function>
Function found(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

int64_t now_ns() {
    static const auto stepped = found<void (*)(uint64_t*, uint64_t*)>("gpushim_test_clock");
    if (uint64_t mono_ns = 0, real_ns = 0; stepped != nullptr) {
        stepped(&mono_ns, &real_ns);
        return static_cast<int64_t>(mono_ns);
    }
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

void work(int64_t ns) {
    static const auto advance = found<void (*)(uint64_t)>("gpusim_advance_ns");
    if (advance != nullptr) return advance(static_cast<uint64_t>(ns));
    const int64_t until_ns = now_ns() + ns;
    while (now_ns() < until_ns) {
    }
}

double mean_of_undisturbed(std::vector<int32_t>& took_ns) {
    const auto middle = took_ns.begin() + static_cast<std::ptrdiff_t>(took_ns.size() / 2);
    std::nth_element(took_ns.begin(), middle, took_ns.end());
    const int32_t most_ns = 2 * *middle;
    const auto end =
        std::partition(took_ns.begin(), took_ns.end(), [=](int32_t ns) { return ns <= most_ns; });
    return std::accumulate(took_ns.begin(), end, 0.0) / static_cast<double>(end - took_ns.begin());
}

}  // namespace

int main(int count, char** words) {
    if (count < 3) return 2;
    const char* kernel = count > 3 ? words[3] : "busy__2us";
    const auto launches = static_cast<size_t>(std::atoll(words[1]));
    const int64_t pause_ns = std::atoll(words[2]);
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CUstream stream = nullptr;
    if (launches == 0 || cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
        cuCtxSetCurrent(context) != CUDA_SUCCESS || cuModuleLoadData(&module, kPtx) != CUDA_SUCCESS ||
        cuModuleGetFunction(&function, module, kernel) != CUDA_SUCCESS ||
        cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
        return 1;
    std::vector<int32_t> took_ns(launches);
    const int64_t begin_ns = now_ns();
    int64_t before_ns = begin_ns;
    for (int32_t& took : took_ns) {
        if (cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr) != CUDA_SUCCESS)
            return 1;
        work(pause_ns);
        const int64_t after_ns = now_ns();
        took = static_cast<int32_t>(std::min<int64_t>(after_ns - before_ns, INT32_MAX / 2));
        before_ns = after_ns;
    }
    const int64_t wall_ns = now_ns() - begin_ns;
    if (cuStreamSynchronize(stream) != CUDA_SUCCESS) return 1;
    std::printf("wall_ns %lld launch_ns %.2f\n", static_cast<long long>(wall_ns),
                mean_of_undisturbed(took_ns));
    return 0;
}
