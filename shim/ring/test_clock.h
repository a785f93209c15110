// The writer follows the clock of the trace. On the test clock hours may pass between two calls of the
// program, or none in a second, so there the writer does not sleep by the machine's time: the program's
// thread that reads a time at which a pass is due waits for it. So what the writer looks at, and when, is the
// same in every run, however busy processors and disk are. On other clocks nobody waits for the writer.
// Bounded: a writer that waits for that very thread costs it two seconds, a minute while our other threads
// run.
#pragma once

#include "ticks.h"

namespace gpushim::shim {

// A thread of the program has read a time of the test clock. Not where the driver holds a lock.
void wait_for_pass();
inline void let_writer_pass(uint64_t ticks) {
    if (ticks >= process_state->next_pass.load(std::memory_order_relaxed)) [[unlikely]]
        wait_for_pass();
}

// A call that is not recorded, because the process rests: the writer may know better by now.
inline bool still_resting() {
    if (process_state->clock_kind == kTestClock) ticks();
    return !recording();
}

// A ring is full: the writer is wanted now. Whatever the clock; waits on the test clock only.
void call_writer();

// --- the writer's side
void be_the_writer();  // the calling thread, for good: it never waits for itself
bool pass_is_due(uint64_t ticks);
void pass_is_done(uint64_t next_ticks);
constexpr uint64_t kNoMorePasses = UINT64_MAX;

}  // namespace gpushim::shim
