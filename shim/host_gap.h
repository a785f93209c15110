// What a thread did between two calls of the driver: running or blocked, by the thread's own CPU clock.
//
//   ── call ──|            gap >= live->gap_ticks            |── call ──
//       last_exit     running + blocked, told apart      enter
//
// Read after a long gap and after calls that block, so never in a hot loop. The program's threads.
#pragma once

#include "recorder.h"

namespace gpushim::shim {

// The slot of a call that was entered a long while after the last one returned. A slot of its own says so.
[[gnu::noinline]] void note_gap(ThreadState& thread, const Slot& next);

// A call that blocked has returned: what it took of the CPU belongs to no gap.
[[gnu::noinline]] void read_cpu_clock(ThreadState& thread);

inline void before_call(ThreadState& thread, const Slot& slot) {
    if (slot.enter - thread.last_exit >= live->gap_ticks && thread.last_exit != 0) [[unlikely]]
        note_gap(thread, slot);
}

inline void after_call(ThreadState& thread, const Slot& slot) {
    thread.last_exit = slot.exit;
    thread.last_call = uint32_t{slot.kind} << 16 | slot.api;
}

}  // namespace gpushim::shim
