// What tests of our events stand on: a thread of the program in an open window, on the box.
#pragma once

#include <catch2/catch.hpp>
#include <memory>

#include "driver/core.h"
#include "shim/base/config.h"
#include "shim/calls/api.h"
#include "shim/timing/contexts.h"
#include "shim/timing/event_pool.h"
#include "shim/timing/operation_events.h"

namespace timed_thread {

using namespace gpushim;
using namespace gpushim::shim;

// A thread with a ring, in a window that is open, with events for its context. Operations are launched as a
// thunk does it.
class Timed {
  public:
    explicit Timed(uintptr_t events = 16, uint32_t slots = 256)
        : header_(new RingHeader()), slots_(new Slot[slots]()), before_(process_state) {
        page_.clock_kind = kMonotonic;
        page_.doing = kRecording;
        page_.generation = 1;
        page_.timing = 1;
        page_.window_until = UINT64_MAX;
        process_state = &page_;
        config = default_config();
        take_ring_of(thread_state, slots);
        context = make_context();
        thread_state.context = context_number(reinterpret_cast<uint64_t>(context));
        pool = make_pool(thread_state.context, context);
        for (uintptr_t i = 0; i < events; ++i) REQUIRE(pool->add(make_event()));
        function = kernel("long__100us");
    }
    ~Timed() {
        process_state = before_;
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
        begin_timing(thread, timing, {reinterpret_cast<uint64_t>(function), false}, stream, per_thread);
        Slot* slot = open_slot(thread, api_cuLaunchKernel, EventKind::launch, 0);
        const CUresult result = call(function, stream);
        slot->exit = ticks();
        complete_slot(slot);
        if (timing.by != Timing::By::nothing) end_timing(thread, timing, slot, result == CUDA_SUCCESS);
        return last(slot);
    }

    uint64_t timed() const { return header_->timed; }
    uint64_t untimed() const { return header_->untimed; }
    RingHeader& header() { return *header_; }
    ProcessState& page() { return page_; }

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
    ProcessState* before_;
    ProcessState page_ = {};
};

inline CUstream stream_of_ours(unsigned flags = CU_STREAM_NON_BLOCKING) {
    CUstream stream = nullptr;
    CU(cuStreamCreate(&stream, flags));
    stream_is_born(reinterpret_cast<uint64_t>(stream), thread_state.context, flags == CU_STREAM_NON_BLOCKING);
    return stream;
}

}  // namespace timed_thread
