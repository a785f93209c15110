// What a thread did between two calls of the driver: running or not, by the thread's own CPU clock.
//
//   ── call ──|            gap >= process_state->gap_ticks            |── call ──|
//       last_exit        some of it on a CPU              entered     the slot `gap` is written here, so
//                                                                     that the call's slots lie together
//
// The clock is read at the end of a gap, and after a call in which the thread may have been off its CPU or
// since whose last reading a while has passed: what lies between two readings beside the gap ran, but for
// less than kStaleGaps gaps. So never in a hot loop. The program's threads; a full ring loses the gap.
#pragma once

#include "clock.h"
#include "recorder.h"

namespace gpushim::shim {

constexpr uint64_t kStaleGaps = 16;   // so many gaps after a reading the next is due
constexpr uint64_t kShortWaits = 32;  // a call that blocks and took less than 1/32 of a gap has not blocked

// The thread that starts recording, last of all: `first` was read when it began to.
void begin_host_gaps(const ClockPair& first);

// A call was entered a long while after the last one returned.
[[gnu::noinline]] void note_gap(ThreadState& thread, uint64_t entered, uint16_t api, uint8_t flags);

// A call has returned: writes the gap before it, if there was one, and reads the CPU clock where that is due.
[[gnu::noinline]] void end_gap(ThreadState& thread, bool reading_is_due);

// `flags`: SlotFlags of the call that was entered.
inline void before_call(ThreadState& thread, uint64_t entered, uint16_t api, uint8_t flags) {
    if (entered - thread.last_exit >= process_state->gap_ticks && thread.last_exit != 0) [[unlikely]]
        note_gap(thread, entered, api, flags);
}

// Another poll of what the last call has asked: gaps between polls belong to their row.
inline void before_poll(ThreadState& thread, uint64_t entered) {
    if (thread.ring != nullptr) add(thread.ring->wait_ticks, entered - thread.last_exit);
    if (entered - thread.last_exit >= process_state->gap_ticks) [[unlikely]]
        thread.cpu_ticks = 0;  // the thread has slept: a reading is due
}

// `blocks`: a call that waits for something.
inline void after_call(ThreadState& thread, uint64_t entered, uint64_t left, EventKind kind, uint16_t api,
                       bool blocks) {
    if (blocks && thread.ring != nullptr) add(thread.ring->wait_ticks, left - entered);
    thread.last_exit = left;
    thread.last_call = uint32_t{static_cast<uint8_t>(kind)} << 16 | api;
    const uint64_t gap = process_state->gap_ticks;
    const bool was_long = left - entered >= (blocks ? gap / kShortWaits : gap);
    const bool is_stale = left - thread.cpu_ticks >= kStaleGaps * gap;
    if (was_long || is_stale || thread.gap.until != 0) [[unlikely]]
        end_gap(thread, was_long || is_stale);
}

// What follows is another process, or comes after calls that were not recorded.
inline void forget_gap(ThreadState& thread) {
    thread.last_exit = thread.cpu_ticks = 0;
    thread.gap = {};
}

}  // namespace gpushim::shim
