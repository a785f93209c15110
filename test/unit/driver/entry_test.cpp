// What happens around every call: before cuInit, what nobody implements, calls of the driver itself, calls
// that are left by other ways than returning.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "call_counts.h"
#include "core.h"

namespace entry_test {

namespace {

sigjmp_buf way_out;
void jump_out(int) { siglongjmp(way_out, 1); }

// The caller's frames lie deeper than those of the call that was left before.
__attribute__((noinline)) CUresult from_deeper(int depth, CUfunction function, CUstream stream) {
    volatile char room[512];
    room[0] = static_cast<char>(depth);
    const CUresult result = depth > 0 ? from_deeper(depth - 1, function, stream) : launch(function, stream);
    return room[0] == static_cast<char>(depth) ? result : CUDA_ERROR_UNKNOWN;
}

size_t throwing(int) { throw 7; }

void wait_until(std::atomic<bool>& flag) {
    while (!flag) std::this_thread::yield();
}

void block_until_told(void* flag) { wait_until(*static_cast<std::atomic<bool>*>(flag)); }

}  // namespace

TEST_CASE("before cuInit", "[entry]") {
    int count = 0;
    CUcontext context = nullptr;
    const char* text = nullptr;
    void* address = nullptr;
    CHECK(cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED);
    CHECK(cuCtxGetCurrent(&context) == CUDA_ERROR_NOT_INITIALIZED);
    CHECK(cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED);
    CHECK(cuStreamQuery(nullptr) == CUDA_ERROR_NOT_INITIALIZED);
    CU(cuDriverGetVersion(&count));
    CU(cuGetErrorName(CUDA_SUCCESS, &text));
    CU(cuGetProcAddress("cuInit", &address, 2000, 0));
    CHECK(cuInit(1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED);
    CU(cuInit(0));
    CU(cuInit(0));
    CU(cuDeviceGetCount(&count));
}

TEST_CASE("what nothing needs yet is not supported, and tables are refused", "[entry]") {
    CHECK(cuCoredumpGetAttribute(CU_COREDUMP_FILE, nullptr, nullptr) == CUDA_ERROR_NOT_INITIALIZED);
    make_context();
    CUgreenCtx green = nullptr;
    CUgraphConditionalHandle conditional = 0;
    CHECK(cuGreenCtxCreate(&green, nullptr, 0, 0) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(cuCoredumpGetAttribute(CU_COREDUMP_FILE, nullptr, nullptr) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(cuLaunchCooperativeKernelMultiDevice(nullptr, 0, 0) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(cuCheckpointProcessLock(1, nullptr) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(cuGraphConditionalHandleCreate(&conditional, nullptr, nullptr, 0, 0) == CUDA_ERROR_NOT_SUPPORTED);
    const CUuuid id{};
    const void* table = &id;
    CHECK(cuGetExportTable(&table, &id) != CUDA_SUCCESS);
    CHECK(table == nullptr);
}

TEST_CASE("calls are counted by export, also those that fail", "[entry]") {
    Timeline timeline;
    make_context();
    CHECK(cuStreamQuery(reinterpret_cast<CUstream>(&timeline)) == CUDA_ERROR_INVALID_HANDLE);
    CU(cuStreamQuery(nullptr));
    CU(cuStreamQuery_ptsz(nullptr));
    CHECK(counts_of(timeline, "cuStreamQuery") == CallCounts{2, 2, 0});
    CHECK(counts_of(timeline, "cuStreamQuery_ptsz") == CallCounts{1, 1, 0});
    CHECK(counts_of(timeline, "cuCtxCreate_v2") == CallCounts{1, 1, 0});
    CHECK(counts_of(timeline, "cuCtxCreate_v4") == CallCounts{0, 0, 0});
}

TEST_CASE("a call that has not returned is seen in the counts", "[entry]") {
    Timeline timeline;
    make_context();
    std::atomic<bool> go{false};
    CU(cuLaunchHostFunc(nullptr, block_until_told, &go));
    CUcontext context = nullptr;
    CU(cuCtxGetCurrent(&context));
    std::thread waiting([=] {
        cuCtxSetCurrent(context);
        cuStreamSynchronize(nullptr);
    });
    while (counts_of(timeline, "cuStreamSynchronize").entered == 0) std::this_thread::yield();
    CHECK(counts_of(timeline, "cuStreamSynchronize") == CallCounts{1, 0, 0});
    go = true;
    waiting.join();
    CHECK(counts_of(timeline, "cuStreamSynchronize") == CallCounts{1, 1, 0});
}

TEST_CASE("a driver that calls itself does the same", "[entry]") {
    Timeline timeline("GPUSIM_SELF_CALLS=3 GPUSIM_FAIL=cuLaunchKernel:2:2");
    make_context();
    CUfunction f = kernel("f__10us");
    timeline.start();
    CU(launch(f));
    CHECK(timeline.now() == 1'000);
    CHECK(counts_of(timeline, "cuLaunchKernel") == CallCounts{1, 1, 3});
    CHECK(launch(f) == CUDA_ERROR_OUT_OF_MEMORY);  // the second call, not the second of four
    CU(cuCtxSynchronize());
    CHECK(timeline.span("f__10us") == "5000-15000");
    CHECK(timeline.named("f__10us").exit_ns == 1'000);
}

TEST_CASE("threads of the driver's own call it", "[entry]") {
    box::knobs("GPUSIM_CALLBACK_THREADS=2 GPUSIM_TRUTH=/tmp/gpusim-case-%p.truth");
    const std::string path = "/tmp/gpusim-case-" + std::to_string(getpid()) + ".truth";
    CU(cuInit(0));
    while (counts_of(path, "cuDriverGetVersion").returned < 10) std::this_thread::yield();
    unlink(path.c_str());
    unlink((path + ".counts").c_str());
}

TEST_CASE("a thread that is cancelled in a call leaves the driver working", "[entry]") {
    Timeline timeline;
    make_context();
    CUcontext context = nullptr;
    CU(cuCtxGetCurrent(&context));
    std::atomic<bool> go{false};
    CU(cuLaunchHostFunc(nullptr, block_until_told, &go));
    struct Shared {
        CUcontext context;
    } shared{context};
    pthread_t thread;
    REQUIRE(pthread_create(
                &thread, nullptr,
                [](void* data) -> void* {
                    cuCtxSetCurrent(static_cast<Shared*>(data)->context);
                    cuStreamSynchronize(nullptr);
                    return nullptr;
                },
                &shared) == 0);
    while (counts_of(timeline, "cuStreamSynchronize").entered == 0) std::this_thread::yield();
    REQUIRE(pthread_cancel(thread) == 0);
    void* result = nullptr;
    REQUIRE(pthread_join(thread, &result) == 0);
    CHECK(result == PTHREAD_CANCELED);
    CHECK(counts_of(timeline, "cuStreamSynchronize") == CallCounts{1, 0, 0});
    go = true;
    CU(launch(kernel("f__10us")));
    CU(cuCtxSynchronize());
    CHECK(timeline.named("f__10us").exit_ns != 0);
}

TEST_CASE("a signal handler that jumps out of a call leaves the driver working", "[entry]") {
    box::knobs("GPUSIM_TRUTH=/tmp/gpusim-case-%p.truth");
    const std::string path = "/tmp/gpusim-case-" + std::to_string(getpid()) + ".truth";
    make_context();
    CUfunction f = kernel("f__1us");
    CUstream stream = make_stream(CU_STREAM_NON_BLOCKING), other = make_stream(CU_STREAM_NON_BLOCKING);
    CU(launch(kernel("long__5000000us"), stream));
    signal(SIGUSR1, jump_out);
    const pthread_t me = pthread_self();
    std::thread waker([&] {
        while (counts_of(path, "cuStreamSynchronize").entered == 0) std::this_thread::yield();
        timespec moment{0, 20'000'000};  // until it sleeps: jumping out of a lock is nobody's promise
        nanosleep(&moment, nullptr);
        pthread_kill(me, SIGUSR1);
    });
    if (sigsetjmp(way_out, 1) == 0) cuStreamSynchronize(stream);
    waker.join();
    CHECK(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
    CU(from_deeper(20, f, other));
    CU(cuStreamSynchronize(other));
    CHECK(counts_of(path, "cuStreamSynchronize") == CallCounts{2, 1, 0});
    CHECK(counts_of(path, "cuLaunchKernel") == CallCounts{2, 2, 0});
    unlink(path.c_str());
    unlink((path + ".counts").c_str());
}

TEST_CASE("an exception out of a function of the program passes through", "[entry]") {
    Timeline timeline;
    make_context();
    CUfunction f = kernel("f__1us");
    int grid = 0, block = 0;
    CHECK_THROWS_AS(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, throwing, 0, 0), int);
    CU(launch(f));
    CHECK(counts_of(timeline, "cuLaunchKernel") == CallCounts{1, 1, 0});
    CHECK(counts_of(timeline, "cuOccupancyMaxPotentialBlockSize") == CallCounts{1, 0, 0});
}

// Real time: only what must hold on any machine.
TEST_CASE("in real time waiting lasts at least as long as the work", "[entry]") {
    make_context();
    CUstream s = make_stream();
    CUevent e0 = make_event(), e1 = make_event(), e2 = make_event();
    const auto start = gpusim::clock::now();
    CU(cuEventRecord(e0, s));
    CU(launch(kernel("a__20000us"), s));
    CU(cuEventRecord(e1, s));
    CU(launch(kernel("b__10000us"), s));
    CU(cuEventRecord(e2, s));
    CHECK(cuStreamQuery(s) == CUDA_ERROR_NOT_READY);
    CU(cuStreamSynchronize(s));
    CHECK(gpusim::clock::now() - start >= 30'000'000);
    float first = 0, second = 0;
    CU(cuEventElapsedTime(&first, e0, e1));
    CU(cuEventElapsedTime(&second, e1, e2));
    CHECK(first >= 20);
    CHECK(second >= 10);
    CHECK(second < first);
}

}  // namespace entry_test
