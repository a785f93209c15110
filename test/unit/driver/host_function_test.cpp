// Functions of the program that streams call.
#include <atomic>
#include <thread>

#include "core.h"

namespace host_function_test {

namespace {

struct Log {
    std::atomic<int> next{0};
    int order[8] = {};
    std::thread::id thread;
};

struct Entry {
    Log* log;
    int number;
};

void note(void* data) {
    auto* entry = static_cast<Entry*>(data);
    entry->log->thread = std::this_thread::get_id();
    entry->log->order[entry->log->next++] = entry->number;
}

void advance_7us(void*) { gpusim_advance_ns(7'000); }

struct Status {
    CUstream stream = nullptr;
    CUresult result = CUDA_ERROR_UNKNOWN;
};

void take_status(CUstream stream, CUresult result, void* data) {
    *static_cast<Status*>(data) = {stream, result};
}

}  // namespace

// s   L....|===a 10===|host 7|===b 10===|         the host function lasts as long as it advances the clock
//     0    5          15     22         32
TEST_CASE("a stream waits for its host function", "[host_function]") {
    Timeline timeline;
    make_context();
    CUstream s = make_stream();
    CUfunction a = kernel("a__10us"), b = kernel("b__10us");
    timeline.start();
    CU(launch(a, s));
    CU(cuLaunchHostFunc(s, advance_7us, nullptr));
    CU(launch(b, s));
    CHECK(cuStreamQuery(s) == CUDA_ERROR_NOT_READY);
    CU(cuStreamSynchronize(s));
    CHECK(timeline.now() == 32'000);
    CHECK(timeline.span("b__10us") == "22000-32000");
    CHECK(timeline.all()[1].op == "host");
    CHECK(timeline.all()[1].start_ns == 15'000);
    CHECK(timeline.all()[1].end_ns == 22'000);
}

TEST_CASE("host functions run in order, on a thread of the driver's, one at a time", "[host_function]") {
    make_context();
    CUstream s = make_stream();
    Log log;
    Entry entries[] = {{&log, 1}, {&log, 2}, {&log, 3}, {&log, 4}};
    for (Entry& entry : entries) CU(cuLaunchHostFunc(s, note, &entry));
    CU(cuStreamSynchronize(s));
    CHECK(log.next == 4);
    for (int i = 0; i < 4; ++i) CHECK(log.order[i] == i + 1);
    CHECK(log.thread != std::this_thread::get_id());
}

TEST_CASE("the host may signal a stream's host function", "[host_function]") {
    make_context();
    CUstream s = make_stream();
    std::atomic<bool> go{false};
    const auto wait_for_go = [](void* data) {
        while (!static_cast<std::atomic<bool>*>(data)->load()) std::this_thread::yield();
    };
    CU(cuLaunchHostFunc(s, wait_for_go, &go));
    CHECK(cuStreamQuery(s) == CUDA_ERROR_NOT_READY);
    go = true;
    CU(cuStreamSynchronize(s));
    CU(cuStreamQuery(s));
}

TEST_CASE("a callback is told stream and status", "[host_function]") {
    make_context();
    CUstream s = make_stream();
    Status fine;
    CU(cuStreamAddCallback(s, take_status, &fine, 0));
    CU(cuStreamSynchronize(s));
    CHECK(fine.stream == s);
    CHECK(fine.result == CUDA_SUCCESS);
    CHECK(cuStreamAddCallback(s, take_status, &fine, 1) == CUDA_ERROR_INVALID_VALUE);
}

// s   L....|==broken 10==|cb    callback: the error is there
// t    cb |                     callback before the error: none yet
TEST_CASE("a callback is told of errors that have happened, not of those to come", "[host_function]") {
    Timeline timeline;
    make_context();
    CUstream s = make_stream(CU_STREAM_NON_BLOCKING), t = make_stream(CU_STREAM_NON_BLOCKING);
    Status before, after;
    CUfunction broken = kernel("broken__fault719__10us");
    CU(launch(broken, s));
    CU(cuStreamAddCallback(t, take_status, &before, 0));
    CU(cuStreamAddCallback(s, take_status, &after, 0));
    CHECK(cuStreamSynchronize(s) == CUDA_ERROR_LAUNCH_FAILED);
    cuStreamSynchronize(t);
    CHECK(before.result == CUDA_SUCCESS);
    CHECK(after.result == CUDA_ERROR_LAUNCH_FAILED);
}

}  // namespace host_function_test
