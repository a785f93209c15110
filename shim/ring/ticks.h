// Time stamps of the hot side: the processor's counter where the kernel itself trusts it, else
// CLOCK_MONOTONIC, or the test clock where the program's driver has one. Which, is decided once by clock.cpp
// before recording starts. Any thread; no call but the vDSO's.
#pragma once

#include <cstdint>

#include "process_state.h"

namespace gpushim::shim {

enum ClockKind : uint32_t { kCounter = 0, kMonotonic = 1, kTestClock = 2 };

uint64_t slow_ticks();  // clock.cpp: for all kinds but the counter

inline uint64_t ticks() {
    if (process_state->clock_kind != kCounter) [[unlikely]]
        return slow_ticks();
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t value;
    asm volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#endif
}

}  // namespace gpushim::shim
