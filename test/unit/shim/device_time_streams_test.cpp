// Which stream an operation of ours is in: default ones, those that nobody saw begin, of which context; and
// who else uses it at the same moment.
#include <thread>

#include "timed_thread.h"

namespace device_time_streams_test {

using namespace timed_thread;

namespace {

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
        begin_timing(thread_state, timing, {}, stream, false);
        Slot* slot = open_slot(thread_state, api_cuLaunchKernel, EventKind::launch, 0);
        CU(launch(function, stream));
        complete_slot(slot);
        if (timing.by != Timing::By::nothing) end_timing(thread_state, timing, slot, true);
        result = {header.timed, header.untimed};
    }).join();
    return result;
}

}  // namespace

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
        process_state->captures = 1;
        CHECK_FALSE(timed.launch_in(stream).timed);
        process_state->captures = 0;
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
    begin_timing(thread_state, left, {}, stream, false);
    CHECK_FALSE(timed.launch_in(nullptr).timed);
    CHECK(timed.launch_in(stream).timed);
    CHECK(timed.launch_in(nullptr).timed);
}

}  // namespace device_time_streams_test
