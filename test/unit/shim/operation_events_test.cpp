// Events of ours around operations on the box: where they are recorded, where not, and that the program's
// thread finds everything as it was.
#include <cerrno>
#include <string>

#include "timed_thread.h"

namespace operation_events_test {

using namespace timed_thread;

namespace {

size_t nodes_of(CUstream captured) {
    CUgraph graph = nullptr;
    CU(cuStreamEndCapture(captured, &graph));
    size_t count = 0;
    CU(cuGraphGetNodes(graph, nullptr, &count));
    return count;
}

}  // namespace

TEST_CASE("a start event is recorded unless the one before is right there and not done", "[device_time]") {
    box::knobs(kStepped);
    Timed timed;
    const CUstream stream = stream_of_ours();
    const auto first = timed.launch_in(stream);
    REQUIRE(first.timed);
    CHECK(first.start != kNoEvent);
    CHECK(first.end != kNoEvent);
    CHECK(first.fenced);
    CHECK(first.context == thread_state.context);
    const auto second = timed.launch_in(stream);
    REQUIRE(second.timed);
    CHECK(second.start == kNoEvent);
    CHECK_FALSE(second.fenced);
    CU(cuStreamSynchronize(stream));
    const auto third = timed.launch_in(stream);
    CHECK(third.start != kNoEvent);
    CHECK_FALSE(third.fenced);
    CHECK(timed.timed() == 3);
    CHECK(timed.untimed() == 0);
    CHECK(timed.header().own_events == 5);
    // All of it is in the stream, in order.
    CU(cuStreamSynchronize(stream));
    float ms = 0;
    CU(cuEventElapsedTime(&ms, timed.pool->handle(first.start), timed.pool->handle(first.end)));
    CHECK(ms >= 0.1f);
    CU(cuEventElapsedTime(&ms, timed.pool->handle(first.end), timed.pool->handle(second.end)));
    CHECK(ms >= 0.1f);
}

TEST_CASE("what else a stream is given makes the next operation record a start event", "[device_time]") {
    box::knobs(kStepped);
    Timed timed;
    const bool is_apart = GENERATE(true, false);
    const CUstream stream = stream_of_ours(is_apart ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT);
    timed.launch_in(stream);
    SECTION("to that stream") { fence_timing(thread_state, stream, false); }
    SECTION("to all streams of the context") { fence_context(thread_state.context); }
    SECTION("by a use of the legacy stream") {
        const uint64_t before = legacy_events();
        CHECK(timed.launch_in(nullptr).timed);
        CHECK(legacy_events() == before + 2);
        if (is_apart) {
            CHECK_FALSE(timed.launch_in(stream).fenced);
            fence_timing(thread_state, stream, false);
        }
    }
    SECTION("by an operation without events") { skip_timing(thread_state, stream, false); }
    SECTION("in an earlier window") { timed.page().window_from = 1; }
    const auto next = timed.launch_in(stream);
    CHECK(next.fenced);
    CHECK(next.start != kNoEvent);
    CHECK_FALSE(timed.launch_in(stream).fenced);
}

TEST_CASE("another stream's wait is no business of this one", "[device_time]") {
    box::knobs(kStepped);
    Timed timed;
    const CUstream stream = stream_of_ours(), other = stream_of_ours();
    timed.launch_in(stream);
    fence_timing(thread_state, other, false);
    CHECK(timed.launch_in(stream).start == kNoEvent);
}

TEST_CASE("an event that was given back is not asked", "[device_time]") {
    box::knobs(kStepped);
    Timed timed(2);
    const CUstream stream = stream_of_ours(), other = stream_of_ours();
    const auto first = timed.launch_in(stream);
    // Harvested, and now in another stream behind something long.
    CU(cuStreamSynchronize(stream));
    timed.pool->give(first.start);
    timed.pool->give(first.end);
    const auto elsewhere = timed.launch_in(other);
    REQUIRE(elsewhere.timed);
    timed.pool->add(make_event());
    timed.pool->add(make_event());
    CHECK(timed.launch_in(stream).start != kNoEvent);
}

TEST_CASE("outside of a window nothing is begun", "[device_time]") {
    box::knobs(kStepped);
    Timed timed;
    const CUstream stream = stream_of_ours();
    timed.page().window_from = UINT64_MAX;
    CHECK_FALSE(timed.launch_in(stream).timed);
    timed.page().window_from = 0;
    timed.page().window_until = 1;
    CHECK_FALSE(timed.launch_in(stream).timed);
    CHECK(timed.untimed() == 0);
    CHECK(timed.header().own_ticks == 0);
}

TEST_CASE("no event is put into a stream that is captured", "[device_time]") {
    box::knobs(kStepped);
    Timed timed;
    const CUstream stream = stream_of_ours(), other = stream_of_ours();
    const auto mode = GENERATE(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                               CU_STREAM_CAPTURE_MODE_RELAXED);
    timed.launch_in(other);
    CU(cuStreamBeginCapture_v2(stream, mode));
    ++process_state->captures;
    CHECK_FALSE(timed.launch_in(stream).timed);
    CHECK(timed.untimed() == 1);
    // Others go on, but nothing is asked.
    const auto beside = timed.launch_in(other);
    CHECK(beside.timed);
    CHECK(beside.start != kNoEvent);
    --process_state->captures;
    CHECK(nodes_of(stream) == 1);
}

TEST_CASE("a question of ours spoils no capture that has just begun", "[device_time]") {
    box::knobs(kStepped);
    Timed timed;
    const CUstream stream = stream_of_ours(), other = stream_of_ours();
    timed.launch_in(other);
    CU(cuStreamBeginCapture_v2(stream,
                               CU_STREAM_CAPTURE_MODE_GLOBAL));  // by somebody who has not said so yet
    CHECK(timed.launch_in(other).start == kNoEvent);
    CU(launch(timed.function, stream));
    CHECK(nodes_of(stream) == 1);
    auto mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    CU(cuThreadExchangeStreamCaptureMode(&mode));
    CHECK(mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

TEST_CASE("a failed operation gives its events back", "[device_time]") {
    box::knobs(kStepped);
    Timed timed(2);
    const CUstream stream = stream_of_ours();
    for (int i = 0; i < 3; ++i) {
        const auto failed =
            timed.launch_in(stream, [](CUfunction, CUstream) { return CUDA_ERROR_INVALID_VALUE; });
        CHECK_FALSE(failed.timed);
    }
    CHECK(timed.untimed() == 3);
    CHECK(timed.pool->misses() == 0);
    CHECK(timed.launch_in(stream).timed);
}

TEST_CASE("without events left an operation is untimed, and more are asked for", "[device_time]") {
    box::knobs(kStepped);
    Timed timed(1);
    const CUstream stream = stream_of_ours();
    CHECK_FALSE(timed.launch_in(stream).timed);
    CHECK(timed.pool->misses() == 1);
    timed.pool->add(make_event());
    CHECK(timed.launch_in(stream).timed);
}

TEST_CASE("an error of ours ends it, and says which", "[device_time]") {
    box::knobs(kStepped + "GPUSIM_FAIL=cuEventRecord:3:999");
    Timed timed;
    const CUstream stream = stream_of_ours();
    CHECK(timed.launch_in(stream).timed);
    CHECK_FALSE(timed.launch_in(stream).timed);
    CHECK(timed.pool->is_retired());
    CHECK(timed.pool->error() == CUDA_ERROR_UNKNOWN);
    CHECK(std::string(timed.pool->failed_call()) == "cuEventRecord");
    CHECK_FALSE(timed.launch_in(stream).timed);
    CHECK(timed.untimed() == 2);
    CU(cuStreamSynchronize(stream));
}

TEST_CASE("a ring with little room is left to the operations", "[device_time]") {
    box::knobs(kStepped);
    Timed timed(16, 8);
    const CUstream stream = stream_of_ours();
    for (int i = 0; i < 3; ++i) CHECK(timed.launch_in(stream).timed);
    for (int i = 0; i < 2; ++i) CHECK_FALSE(timed.launch_in(stream).timed);
    CHECK(timed.header().dropped[static_cast<size_t>(Drop::full)] == 0);
    timed.header().tail = timed.header().head.load();
    const auto said = timed.launch_in(stream);
    CHECK(said.timed);
    CHECK(said.fenced);
}

TEST_CASE("what is wished for finds a queue before it", "[device_time]") {
    box::knobs(kStepped);
    Timed timed;
    const CUstream stream = stream_of_ours();
    wish_for_queue(reinterpret_cast<uint64_t>(timed.function) + 8, 10);
    int64_t before = gpusim::clock::now();
    timed.launch_in(stream);
    const int64_t alone = gpusim::clock::now() - before;
    wish_for_queue(reinterpret_cast<uint64_t>(timed.function), 10);
    before = gpusim::clock::now();
    const auto said = timed.launch_in(stream);
    CHECK(said.start != kNoEvent);
    CHECK(gpusim::clock::now() - before == alone + 10 * 100);
    CHECK(timed.launch_in(stream).start == kNoEvent);
}

TEST_CASE("what we take of the thread's time is counted", "[device_time]") {
    box::knobs(kStepped);
    Timed timed;
    const CUstream stream = stream_of_ours();
    timed.launch_in(stream);
    const uint64_t once = timed.header().own_ticks;
    CHECK(once > 0);
    timed.launch_in(stream);
    CHECK(timed.header().own_ticks > once);
}

TEST_CASE("errno is the program's", "[device_time]") {
    box::knobs(kStepped);
    Timed timed;
    const CUstream stream = stream_of_ours();
    ThreadState& thread = thread_state;
    Timing timing;
    errno = 77;
    begin_timing(thread, timing, {}, stream, false);
    CHECK(errno == 77);
    Slot* slot = open_slot(thread, api_cuLaunchKernel, EventKind::launch, 0);
    complete_slot(slot);
    errno = 78;
    end_timing(thread, timing, slot, true);
    CHECK(errno == 78);
}

}  // namespace operation_events_test
