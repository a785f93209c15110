// Events of ours around operations on the box: where they are recorded, where not, and that the program's
// thread finds everything as it was.
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "driver/core.h"
#include "shim/config.h"
#include "shim/contexts.h"
#include "shim/device_time.h"
#include "shim/event_pool.h"
#include "shim/hooks/api.h"

using namespace gpushim;
using namespace gpushim::shim;

namespace {

// A thread with a ring, in a window that is open, with events for its context. Operations are launched as a
// thunk does it.
class Timed {
  public:
    explicit Timed(uintptr_t events = 16, uint32_t slots = 256)
        : header_(new RingHeader()), slots_(new Slot[slots]()), before_(live) {
        page_.clock_kind = kMonotonic;
        page_.doing = kRecording;
        page_.generation = 1;
        page_.timing = 1;
        page_.window_until = UINT64_MAX;
        live = &page_;
        config = default_config();
        take_ring_of(thread_state, slots);
        context = make_context();
        thread_state.context = context_number(reinterpret_cast<uint64_t>(context));
        pool = make_pool(thread_state.context, context);
        for (uintptr_t i = 0; i < events; ++i) REQUIRE(pool->add(make_event()));
        function = kernel("long__100us");
    }
    ~Timed() {
        live = before_;
        thread_state = {};
    }
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;

    // What one operation said of its events.
    struct Said {
        bool timed;
        uint32_t start, end;
        bool fenced;
        uint64_t context;
    };
    Said launch_in(CUstream stream, CUresult (*call)(CUfunction, CUstream) = &launch_it,
                   bool per_thread = false) {
        ThreadState& thread = thread_state;
        Timing timing;
        begin_timing(thread, timing, reinterpret_cast<uint64_t>(function), stream, per_thread);
        Slot* slot = open_slot(thread, api_cuLaunchKernel, EventKind::launch, 0);
        const CUresult result = call(function, stream);
        slot->exit = ticks();
        complete_slot(slot);
        if (timing.use != nullptr) end_timing(thread, timing, slot, result == CUDA_SUCCESS);
        return last(slot);
    }

    uint64_t timed() const { return header_->timed; }
    uint64_t untimed() const { return header_->untimed; }
    RingHeader& header() { return *header_; }
    Live& page() { return page_; }

    CUcontext context = nullptr;
    EventPool* pool = nullptr;
    CUfunction function = nullptr;

  private:
    static CUresult launch_it(CUfunction kernel, CUstream stream) { return launch(kernel, stream); }

    void take_ring_of(ThreadState& thread, uint32_t slots) {
        thread = {};
        thread.ring = header_.get();
        thread.slots = slots_.get();
        thread.mask = slots - 1;
        thread.generation = 1;
    }

    Said last(const Slot* operation) const {
        const uint64_t position = header_->head - 1;
        const Slot& slot = slots_[position & thread_state.mask];
        if (slot.kind != static_cast<uint8_t>(EventKind::timed)) return {};
        CHECK(slot.mark == complete_mark(position));
        CHECK(&slots_[slot.word[2] & thread_state.mask] == operation);
        CHECK(slot.enter == operation->enter);
        CHECK(slot.exit >= operation->exit);
        return {true, static_cast<uint32_t>(slot.word[0]), static_cast<uint32_t>(slot.word[0] >> 32),
                (slot.word[1] & kFenced) != 0, slot.word[1] & (kFenced - 1)};
    }

    std::unique_ptr<RingHeader> header_;
    std::unique_ptr<Slot[]> slots_;
    Live* before_;
    Live page_ = {};
};

CUstream stream_of_ours(unsigned flags = CU_STREAM_NON_BLOCKING) {
    CUstream stream = nullptr;
    CU(cuStreamCreate(&stream, flags));
    stream_is_born(reinterpret_cast<uint64_t>(stream), thread_state.context, flags == CU_STREAM_NON_BLOCKING);
    return stream;
}

// Another thread launches there. How many of its operations were timed, and how many not.
struct Elsewhere {
    uint64_t timed = 0, untimed = 0;
};
Elsewhere launched_elsewhere(CUfunction function, CUstream stream) {
    const uint32_t context = thread_state.context;
    Elsewhere result;
    CUcontext current = nullptr;
    CU(cuCtxGetCurrent(&current));
    std::thread([=, &result] {
        CU(cuCtxSetCurrent(current));
        RingHeader header = {};
        Slot slots[16] = {};
        thread_state = {};
        thread_state.ring = &header;
        thread_state.slots = slots;
        thread_state.mask = 15;
        thread_state.generation = 1;
        thread_state.context = context;
        Timing timing;
        begin_timing(thread_state, timing, 0, stream, false);
        Slot* slot = open_slot(thread_state, api_cuLaunchKernel, EventKind::launch, 0);
        CU(launch(function, stream));
        complete_slot(slot);
        if (timing.use != nullptr) end_timing(thread_state, timing, slot, true);
        result = {header.timed, header.untimed};
    }).join();
    return result;
}

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
    ++live->captures;
    CHECK_FALSE(timed.launch_in(stream).timed);
    CHECK(timed.untimed() == 1);
    // Others go on, but nothing is asked.
    const auto beside = timed.launch_in(other);
    CHECK(beside.timed);
    CHECK(beside.start != kNoEvent);
    --live->captures;
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

TEST_CASE("the legacy stream gets events only where that is wanted", "[device_time]") {
    box::knobs(kStepped);
    Timed timed;
    config.legacy_events = false;
    CHECK_FALSE(timed.launch_in(nullptr).timed);
    CHECK_FALSE(timed.launch_in(CU_STREAM_LEGACY).timed);
    CHECK(legacy_events() == 0);
    config.legacy_events = true;
    const auto said = timed.launch_in(CU_STREAM_LEGACY);
    CHECK(said.timed);
    CHECK(legacy_events() == 2);
    CHECK(timed.launch_in(nullptr).start == kNoEvent);
    CHECK(legacy_events() == 3);
}

TEST_CASE("a thread's own default stream is not the legacy one", "[device_time]") {
    box::knobs(kStepped);
    Timed timed;
    CHECK(timed.launch_in(CU_STREAM_PER_THREAD).timed);
    CHECK(timed.launch_in(CU_STREAM_PER_THREAD).start == kNoEvent);
    CHECK(legacy_events() == 0);
    CHECK(timed.launch_in(CU_STREAM_LEGACY).start != kNoEvent);
}

TEST_CASE("stream 0 is the one that the call means", "[device_time]") {
    box::knobs(kStepped);
    Timed timed;
    const bool per_thread = GENERATE(false, true);
    const uint64_t before = legacy_events();
    const auto call = [](CUfunction f, CUstream s) {
        return cuLaunchKernel_ptsz(f, 1, 1, 1, 32, 1, 1, 0, s, nullptr, nullptr);
    };
    const auto said = per_thread ? timed.launch_in(nullptr, call, true) : timed.launch_in(nullptr);
    CHECK(legacy_events() - before == (per_thread ? 0 : 2));
    CU(cuCtxSynchronize());
    float ms = 0;
    CU(cuEventElapsedTime(&ms, timed.pool->handle(said.start), timed.pool->handle(said.end)));
    CHECK(ms >= 0.1f);
}

TEST_CASE("a stream that nobody saw begin has device times from its second operation on", "[device_time]") {
    box::knobs(kStepped);
    Timed timed;
    CUstream stream = nullptr;
    CU(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    SECTION("its context is asked for once an operation has succeeded") {
        CHECK_FALSE(timed.launch_in(stream, [](CUfunction, CUstream) { return CUDA_ERROR_UNKNOWN; }).timed);
        CHECK_FALSE(timed.launch_in(stream).timed);
        CHECK(timed.launch_in(stream).timed);
    }
    SECTION("not while something is captured") {
        live->captures = 1;
        CHECK_FALSE(timed.launch_in(stream).timed);
        live->captures = 0;
        CHECK_FALSE(timed.launch_in(stream).timed);
        CHECK(timed.launch_in(stream).timed);
    }
}

TEST_CASE("events are of the stream's context, whichever is current", "[device_time]") {
    box::knobs(kStepped + "GPUSIM_DEVICES=2");
    Timed timed;
    const uint32_t first = thread_state.context;
    const CUstream stream = stream_of_ours();
    const CUcontext other = make_context(1);
    thread_state.context = context_number(reinterpret_cast<uint64_t>(other));
    EventPool* pool = make_pool(thread_state.context, other);
    for (int i = 0; i < 4; ++i) pool->add(make_event());
    const auto said = timed.launch_in(stream);
    CHECK(said.timed);
    CHECK(said.context == first);
    CU(cuCtxSetCurrent(other));
    timed.function = kernel("other__10us");
    const auto legacy = timed.launch_in(nullptr);
    CHECK(legacy.timed);
    CHECK(legacy.context == thread_state.context);
}

TEST_CASE("a stream that ends leaves nothing behind for the next at its address", "[device_time]") {
    box::knobs(kStepped + "GPUSIM_DEVICES=2");
    Timed timed;
    const CUstream stream = stream_of_ours();
    CHECK(timed.launch_in(stream).timed);
    stream_is_gone(reinterpret_cast<uint64_t>(stream));
    CHECK_FALSE(timed.launch_in(stream).timed);
    CHECK(timed.launch_in(stream).fenced);
    SECTION("also where its context has ended") {
        context_is_ending(thread_state.context);
        context_has_ended(thread_state.context, true);
        context_gone(reinterpret_cast<uint64_t>(timed.context));
        context_is_born(reinterpret_cast<uint64_t>(timed.context));
        EventPool* pool = make_pool(context_number(reinterpret_cast<uint64_t>(timed.context)), timed.context);
        for (int i = 0; i < 4; ++i) pool->add(make_event());
        CHECK_FALSE(timed.launch_in(stream).timed);
        const auto said = timed.launch_in(stream);
        CHECK(said.timed);
        CHECK(said.context == context_number(reinterpret_cast<uint64_t>(timed.context)));
    }
}

TEST_CASE("two threads in one stream at once: neither is timed", "[device_time]") {
    box::knobs(kStepped);
    Timed timed;
    static Elsewhere other;
    const CUstream stream = stream_of_ours();
    const auto first = timed.launch_in(stream, [](CUfunction f, CUstream s) {
        other = launched_elsewhere(f, s);
        return launch(f, s);
    });
    CHECK_FALSE(first.timed);
    CHECK(other.timed == 0);
    CHECK(other.untimed == 1);
    CHECK(timed.untimed() == 1);
    CHECK(timed.launch_in(stream).fenced);
}

TEST_CASE("two threads at once in streams that wait for each other: neither is timed", "[device_time]") {
    box::knobs(kStepped);
    Timed timed;
    static Elsewhere other;
    static CUstream others_stream;
    const auto beside = [](CUfunction f, CUstream s) {
        other = launched_elsewhere(f, others_stream);
        return launch(f, s);
    };
    const CUstream blocking = stream_of_ours(CU_STREAM_DEFAULT), apart = stream_of_ours();
    SECTION("a stream beside the legacy one") {
        others_stream = nullptr;
        CHECK_FALSE(timed.launch_in(blocking, beside).timed);
        CHECK(other.untimed == 1);
        CHECK(timed.launch_in(blocking).fenced);
    }
    SECTION("the legacy one beside a stream") {
        others_stream = blocking;
        CHECK_FALSE(timed.launch_in(nullptr, beside).timed);
        CHECK(other.untimed == 1);
    }
    SECTION("but a stream that stands apart is timed, and so is who is beside it") {
        others_stream = nullptr;
        CHECK(timed.launch_in(apart, beside).timed);
        CHECK(other.timed == 1);
    }
    SECTION("and two streams are that do not wait for each other") {
        others_stream = stream_of_ours(CU_STREAM_DEFAULT);
        CHECK(timed.launch_in(blocking, beside).timed);
        CHECK(other.timed == 1);
    }
    // Nothing is left of it.
    CHECK(timed.launch_in(blocking).timed);
    CHECK(timed.launch_in(nullptr).timed);
}

TEST_CASE("whether a stream stands apart is asked where nobody saw it begin", "[device_time]") {
    box::knobs(kStepped);
    Timed timed;
    CUstream stream = nullptr;
    const bool is_apart = GENERATE(true, false);
    CU(cuStreamCreate(&stream, is_apart ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
    timed.launch_in(stream);
    const auto said = timed.launch_in(stream, [](CUfunction f, CUstream s) {
        launched_elsewhere(f, nullptr);
        return launch(f, s);
    });
    CHECK(said.timed == is_apart);
}

TEST_CASE("an operation that was left without a word keeps nobody from the streams beside it",
          "[device_time]") {
    box::knobs(kStepped);
    Timed timed;
    const CUstream stream = stream_of_ours(CU_STREAM_DEFAULT);
    Timing left;
    begin_timing(thread_state, left, 0, stream, false);
    CHECK_FALSE(timed.launch_in(nullptr).timed);
    CHECK(timed.launch_in(stream).timed);
    CHECK(timed.launch_in(nullptr).timed);
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
    begin_timing(thread, timing, 0, stream, false);
    CHECK(errno == 77);
    Slot* slot = open_slot(thread, api_cuLaunchKernel, EventKind::launch, 0);
    complete_slot(slot);
    errno = 78;
    end_timing(thread, timing, slot, true);
    CHECK(errno == 78);
}
