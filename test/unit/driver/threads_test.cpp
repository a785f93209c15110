#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <random>
#include <thread>

#include "core.h"

namespace threads_test {

namespace {

// Handles that all threads use and any may destroy at any moment: what the others still hold is stale then.
template <class Handle>
class Shared {
  public:
    Handle any(std::mt19937& dice) const { return slots_[dice() % kSlots].load(); }
    Handle put(std::mt19937& dice, Handle handle) { return slots_[dice() % kSlots].exchange(handle); }
    void clear(const std::function<void(Handle)>& destroy) {
        for (auto& slot : slots_) destroy(slot.exchange({}));
    }

  private:
    static constexpr size_t kSlots = 6;
    std::array<std::atomic<Handle>, kSlots> slots_{};
};

constexpr size_t kBytes = 4096;

struct Playground {
    CUcontext context = nullptr;
    CUfunction function = nullptr;
    char* pinned = nullptr;
    Shared<CUstream> streams;
    Shared<CUevent> events;
    Shared<CUdeviceptr> memory;
    std::atomic<int> host_functions = 0;

    Playground() {
        context = make_context();
        function = kernel("f__1us");
        void* host = nullptr;
        CU(cuMemHostAlloc(&host, kBytes, 0));
        pinned = static_cast<char*>(host);
    }
};

CUresult replace_stream(Playground& p, std::mt19937& dice) {
    CUstream made = nullptr;
    cuStreamCreate(&made, dice() % 2 != 0 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT);
    const CUstream old = p.streams.put(dice, made);
    return old == nullptr ? CUDA_SUCCESS : cuStreamDestroy_v2(old);
}

CUresult replace_event(Playground& p, std::mt19937& dice) {
    CUevent made = nullptr;
    cuEventCreate(&made, 0);
    const CUevent old = p.events.put(dice, made);
    return old == nullptr ? CUDA_SUCCESS : cuEventDestroy_v2(old);
}

CUresult replace_memory(Playground& p, std::mt19937& dice) {
    CUdeviceptr made = 0;
    cuMemAlloc_v2(&made, kBytes);
    const CUdeviceptr old = p.memory.put(dice, made);
    return old == 0 ? CUDA_SUCCESS : cuMemFree_v2(old);
}

CUresult allocate_in_order(Playground& p, std::mt19937& dice) {
    const CUstream stream = p.streams.any(dice);
    CUdeviceptr made = 0;
    const CUresult result = cuMemAllocAsync(&made, kBytes, stream);
    return result != CUDA_SUCCESS ? result : cuMemFreeAsync(made, nullptr);
}

// The stream that is captured is never destroyed: another thread's stale handle could come to mean the next
// one.
CUresult capture_and_launch(Playground& p, std::mt19937& dice) {
    thread_local CUstream own = nullptr;
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    if (own == nullptr) cuStreamCreate(&own, CU_STREAM_NON_BLOCKING);
    cuStreamBeginCapture_v2(own, CU_STREAM_CAPTURE_MODE_RELAXED);
    launch(p.function, own);
    launch(p.function, own);
    cuStreamEndCapture(own, &graph);
    CUresult result = cuGraphInstantiateWithFlags(&exec, graph, 0);
    if (result == CUDA_SUCCESS) cuGraphLaunch(exec, p.streams.any(dice));
    if (result == CUDA_SUCCESS) result = cuGraphLaunch(exec, own);
    cuGraphDestroy(graph);
    cuGraphExecDestroy(exec);
    return result;
}

CUresult come_and_go(Playground& p, std::mt19937&) {
    CUcontext other = nullptr;
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    cuCtxCreate_v2(&other, 0, 0);
    cuModuleLoadData(&module, kAnyImage);
    cuModuleGetFunction(&function, module, "g__1us");
    launch(function);
    const CUresult result = cuModuleUnload(module);
    cuCtxDestroy_v2(other);
    cuCtxSetCurrent(p.context);
    return result;
}

CUresult call_host(Playground& p, std::mt19937& dice) {
    return cuLaunchHostFunc(
        p.streams.any(dice), [](void* count) { ++*static_cast<std::atomic<int>*>(count); },
        &p.host_functions);
}

CUresult ask_about_time(Playground& p, std::mt19937& dice) {
    float between_ms = 0;
    return cuEventElapsedTime(&between_ms, p.events.any(dice), p.events.any(dice));
}

using Step = CUresult (*)(Playground&, std::mt19937&);
constexpr Step kSteps[] = {
    replace_stream,
    replace_event,
    replace_memory,
    allocate_in_order,
    capture_and_launch,
    come_and_go,
    call_host,
    ask_about_time,
    [](Playground& p, std::mt19937& dice) { return launch(p.function, p.streams.any(dice)); },
    [](Playground& p, std::mt19937& dice) { return cuEventRecord(p.events.any(dice), p.streams.any(dice)); },
    [](Playground& p, std::mt19937& dice) {
        return cuStreamWaitEvent(p.streams.any(dice), p.events.any(dice), 0);
    },
    [](Playground& p, std::mt19937& dice) {
        return cuMemcpyHtoDAsync_v2(p.memory.any(dice), p.pinned, kBytes, p.streams.any(dice));
    },
    [](Playground& p, std::mt19937& dice) {
        return cuMemsetD8Async(p.memory.any(dice), 1, kBytes, p.streams.any(dice));
    },
    [](Playground& p, std::mt19937& dice) {
        char pageable[kBytes];
        return cuMemcpyDtoH_v2(pageable, p.memory.any(dice), kBytes);
    },
    [](Playground& p, std::mt19937& dice) { return cuStreamQuery(p.streams.any(dice)); },
    [](Playground& p, std::mt19937& dice) { return cuEventQuery(p.events.any(dice)); },
    [](Playground& p, std::mt19937& dice) { return cuStreamSynchronize(p.streams.any(dice)); },
    [](Playground&, std::mt19937&) { return cuCtxSynchronize(); },
};

// A stale or empty handle, an event that is not ready or was never recorded, a context that is waited for
// while a stream of it is captured: all else is a fault of the box.
bool is_expected(CUresult result) {
    constexpr CUresult kExpected[] = {CUDA_SUCCESS, CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE,
                                      CUDA_ERROR_NOT_READY, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED};
    return std::find(std::begin(kExpected), std::end(kExpected), result) != std::end(kExpected);
}

}  // namespace

TEST_CASE("threads that do everything at once, with what others destroy, leave the box whole", "[threads]") {
    box::knobs("GPUSIM_LAUNCH_NS=0 GPUSIM_CALL_NS=0 GPUSIM_EVENT_NS=0 GPUSIM_LATENCY_NS=100");
    Playground p;
    size_t before = 0, after = 0, total = 0;
    CU(cuMemGetInfo_v2(&before, &total));
    std::atomic<int> unexpected = 0, succeeded = 0;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            std::mt19937 dice(t);
            cuCtxSetCurrent(p.context);
            for (int i = 0; i < 4000; ++i) {
                const CUresult result = kSteps[dice() % std::size(kSteps)](p, dice);
                succeeded += result == CUDA_SUCCESS;
                if (!is_expected(result)) unexpected = static_cast<int>(result);
            }
        });
    for (auto& thread : threads) thread.join();
    CHECK(unexpected == 0);
    CHECK(succeeded > 8000);
    CU(cuCtxSynchronize());
    CHECK(p.host_functions > 0);
    p.memory.clear([](CUdeviceptr address) { cuMemFree_v2(address); });
    CU(cuMemGetInfo_v2(&after, &total));
    CHECK(after == before);
    CU(cuCtxDestroy_v2(p.context));
}

}  // namespace threads_test
