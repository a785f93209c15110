// Contexts: the thread's stack of them, primary ones, and what ends with one.
#include <thread>

#include "core.h"

namespace context_test {

namespace {

CUcontext current() {
    CUcontext context = nullptr;
    CU(cuCtxGetCurrent(&context));
    return context;
}

int device_of_current() {
    CUdevice device = -1;
    CU(cuCtxGetDevice(&device));
    return device;
}

bool primary_is_active(CUdevice device) {
    unsigned flags = 0;
    int active = -1;
    CU(cuDevicePrimaryCtxGetState(device, &flags, &active));
    return active == 1;
}

template <class Body>
void on_another_thread(Body body) {
    std::thread(body).join();
}

}  // namespace

TEST_CASE("a new context is current to the thread that made it, and to no other", "[context]") {
    CUcontext made = make_context();
    CHECK(current() == made);
    CUcontext elsewhere = made;
    on_another_thread([&] { cuCtxGetCurrent(&elsewhere); });
    CHECK(elsewhere == nullptr);
    CU(cuCtxDestroy_v2(made));
    CHECK(current() == nullptr);
    CHECK(cuCtxDestroy_v2(made) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuCtxPopCurrent_v2(&made) == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("contexts are stacked per thread", "[context]") {
    CUcontext a = make_context(), b = make_context();
    CHECK(current() == b);
    CU(cuCtxPushCurrent_v2(a));  // a b a
    CHECK(current() == a);
    CUcontext popped = nullptr;
    CU(cuCtxPopCurrent_v2(&popped));  // a b
    CHECK(popped == a);
    CU(cuCtxSetCurrent(a));  // a a: replaces the top
    CU(cuCtxPopCurrent_v2(nullptr));
    CHECK(current() == a);
    CU(cuCtxSetCurrent(nullptr));  // pops
    CHECK(current() == nullptr);
    CU(cuCtxSetCurrent(b));  // an empty stack gets it pushed
    CHECK(current() == b);
    CHECK(cuCtxPushCurrent_v2(nullptr) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuCtxSetCurrent(reinterpret_cast<CUcontext>(&a)) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(current() == b);
}

TEST_CASE("a stack of contexts that is full says so", "[context]") {
    CUcontext context = make_context();
    CUresult result = CUDA_SUCCESS;
    int pushed = 1;
    for (; pushed < 100'000 && result == CUDA_SUCCESS; ++pushed) result = cuCtxPushCurrent_v2(context);
    CHECK(result == CUDA_ERROR_OUT_OF_MEMORY);
    for (int i = 0; i < pushed - 1; ++i) CU(cuCtxPopCurrent_v2(nullptr));
    CHECK(current() == nullptr);
}

TEST_CASE("destroying a context takes it from the top of the own stack only", "[context]") {
    CUcontext below = make_context(), top = make_context();
    CU(cuCtxDestroy_v2(below));
    CHECK(current() == top);
    CU(cuCtxDestroy_v2(top));
    CUdevice device = 0;
    CHECK(cuCtxGetDevice(&device) == CUDA_ERROR_CONTEXT_IS_DESTROYED);  // `below` is still in the stack
    CU(cuCtxPopCurrent_v2(nullptr));
    CHECK(cuCtxGetDevice(&device) == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("a context that another thread destroyed answers so", "[context]") {
    CUcontext shared = make_context();
    CUresult create = CUDA_SUCCESS, synchronize = CUDA_SUCCESS, launched = CUDA_SUCCESS;
    CUfunction function = kernel("work__1us");
    on_another_thread([&] {
        cuCtxSetCurrent(shared);
        on_another_thread([&] { cuCtxDestroy_v2(shared); });
        CUstream stream = nullptr;
        create = cuStreamCreate(&stream, 0);
        synchronize = cuCtxSynchronize();
        launched = launch(function);
    });
    CHECK(create == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(synchronize == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(launched == CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_CASE("a new context at the address of a destroyed one does not take its place in stacks", "[context]") {
    CUcontext below = make_context(), top = make_context();
    CU(cuCtxDestroy_v2(below));
    for (int i = 0; i < 32; ++i) {
        make_context();
        CU(cuCtxPopCurrent_v2(nullptr));
    }
    CU(cuCtxDestroy_v2(top));
    CHECK(cuCtxSynchronize() == CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_CASE("eight threads each have their own current context", "[context]") {
    box::knobs("GPUSIM_DEVICES=8");
    CU(cuInit(0));
    int seen[8] = {};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([i, &seen] {
            CUcontext context = nullptr;
            if (cuCtxCreate_v2(&context, 0, i) != CUDA_SUCCESS) return;
            for (int round = 0; round < 200; ++round) {
                CUdevice device = -1;
                cuCtxGetDevice(&device);
                seen[i] += device == i;
            }
            cuCtxDestroy_v2(context);
        });
    for (auto& thread : threads) thread.join();
    for (int count : seen) CHECK(count == 200);
}

TEST_CASE("the primary context is shared, and ends with its last release", "[context]") {
    CU(cuInit(0));
    CHECK_FALSE(primary_is_active(0));
    CHECK(cuDevicePrimaryCtxRelease_v2(0) == CUDA_ERROR_INVALID_CONTEXT);
    CUcontext first = nullptr, second = nullptr;
    CU(cuDevicePrimaryCtxRetain(&first, 0));
    CU(cuDevicePrimaryCtxRetain(&second, 0));
    CHECK(first == second);
    CHECK(current() == nullptr);  // retaining makes nothing current
    CU(cuCtxSetCurrent(first));
    CHECK(cuCtxDestroy_v2(first) == CUDA_ERROR_INVALID_CONTEXT);
    CU(cuDevicePrimaryCtxRelease_v2(0));
    CHECK(primary_is_active(0));
    CU(cuDevicePrimaryCtxRelease_v2(0));
    CHECK_FALSE(primary_is_active(0));
    CHECK(cuCtxSynchronize() == CUDA_ERROR_CONTEXT_IS_DESTROYED);  // it is not popped
    CHECK(cuDevicePrimaryCtxRetain(&first, 1) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(cuDevicePrimaryCtxRetain(nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("resetting the primary context does not release it", "[context]") {
    CU(cuInit(0));
    CUcontext context = nullptr;
    CU(cuDevicePrimaryCtxRetain(&context, 0));
    CU(cuCtxSetCurrent(context));
    CUstream stream = make_stream();
    CU(cuDevicePrimaryCtxReset_v2(0));
    CHECK_FALSE(primary_is_active(0));
    CHECK(cuStreamQuery(stream) != CUDA_SUCCESS);
    CU(cuDevicePrimaryCtxRelease_v2(0));
    CHECK(cuDevicePrimaryCtxRelease_v2(0) == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("flags of the primary context are kept for the next one", "[context]") {
    CU(cuInit(0));
    CU(cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SCHED_YIELD));
    CUcontext context = nullptr;
    CU(cuDevicePrimaryCtxRetain(&context, 0));
    CU(cuCtxSetCurrent(context));
    unsigned flags = 0;
    CU(cuCtxGetFlags(&flags));
    CHECK(flags == CU_CTX_SCHED_YIELD);
    CHECK(cuDevicePrimaryCtxSetFlags_v2(0, 0x10000) == CUDA_ERROR_INVALID_VALUE);
}

// stream |--latency 5 us--|==long__50us==|          destroy, called after the launch call (1 us), returns at
// 55 us
TEST_CASE("destroying a context waits for its work and ends all that it holds", "[context]") {
    box::knobs(kStepped);
    CUcontext context = make_context();
    CUcontext other = make_context();
    CU(cuCtxPushCurrent_v2(context));
    CUstream stream = make_stream();
    CUevent event = make_event();
    CUmodule module = load(kAnyImage);
    CUfunction function = kernel("long__50us");
    const auto start = gpusim::clock::now();
    CU(launch(function, stream));
    CU(cuCtxDestroy_v2(context));
    CHECK(gpusim::clock::now() - start == 55'000);
    CHECK(current() == other);
    CHECK(cuStreamQuery(stream) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuEventQuery(event) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuModuleUnload(module) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(launch(function) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("what is asked of a context", "[context]") {
    box::knobs("GPUSIM_DEVICES=2");
    CUcontext first = make_context(0), second = make_context(1);
    unsigned long long id_first = 0, id_second = 0;
    CU(cuCtxGetId(first, &id_first));
    CU(cuCtxGetId(nullptr, &id_second));
    CHECK(id_first != id_second);
    CHECK(device_of_current() == 1);
    CUdevice device = -1;
    CU(cuCtxGetDevice_v2(&device, first));
    CHECK(device == 0);
    unsigned version = 0;
    CU(cuCtxGetApiVersion(second, &version));
    CHECK(version == 3020);
    int least = 1, greatest = 1;
    CU(cuCtxGetStreamPriorityRange(&least, &greatest));
    CHECK(least == 0);
    CHECK(greatest == -5);
    CU(cuCtxGetStreamPriorityRange(nullptr, nullptr));
    CU(cuCtxSetFlags(CU_CTX_SCHED_BLOCKING_SYNC));
    unsigned flags = 0;
    CU(cuCtxGetFlags(&flags));
    CHECK(flags == CU_CTX_SCHED_BLOCKING_SYNC);
    CHECK(cuCtxCreate_v2(&first, 0x10000, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuCtxCreate_v2(&first, 0, 2) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(cuCtxCreate_v2(nullptr, 0, 0) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("limits and preferences of a context are kept", "[context]") {
    make_context();
    size_t value = 0;
    CU(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
    CHECK(value == 1024);
    CU(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    CU(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
    CHECK(value == 4096);
    CHECK(cuCtxSetLimit(CU_LIMIT_MAX, 1) == CUDA_ERROR_UNSUPPORTED_LIMIT);
    CU(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
    CUfunc_cache config = CU_FUNC_CACHE_PREFER_NONE;
    CU(cuCtxGetCacheConfig(&config));
    CHECK(config == CU_FUNC_CACHE_PREFER_L1);
}

TEST_CASE("an attached context ends with its last user", "[context]") {
    CUcontext context = make_context(), same = nullptr;
    CU(cuCtxAttach(&same, 0));
    CHECK(same == context);
    CU(cuCtxDetach(context));
    CU(cuCtxSynchronize());
    CU(cuCtxDetach(context));
    CHECK(current() == nullptr);
    CHECK(cuCtxDetach(context) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuCtxAttach(&same, 0) == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("without a current context", "[context]") {
    CU(cuInit(0));
    CUstream stream = nullptr;
    CUevent event = nullptr;
    CUmodule module = nullptr;
    CUlinkState link = nullptr;
    CHECK(cuStreamCreate(&stream, 0) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuEventCreate(&event, 0) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuModuleLoadData(&module, kAnyImage) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuCtxSynchronize() == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuStreamSynchronize(nullptr) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuStreamQuery(CU_STREAM_PER_THREAD) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuProfilerStart() == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuCtxResetPersistingL2Cache() == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuLinkCreate_v2(0, nullptr, nullptr, &link) == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("the profiler is started and stopped in a context, and takes no configuration", "[context]") {
    make_context();
    CU(cuProfilerStart());
    CU(cuProfilerStart());
    CU(cuProfilerStop());
    CU(cuProfilerStop());
    CHECK(cuProfilerInitialize("config", "output", CU_OUT_CSV) == CUDA_ERROR_PROFILER_DISABLED);
}

}  // namespace context_test
