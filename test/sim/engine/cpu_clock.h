// How long threads ran, in stepped time: what a thread's own calls and `gpusim_advance_ns` moved the clock
// by counts, what it waited does not, nor what other threads moved. In real time the machine knows. Any
// thread.
#pragma once

#include <cstdint>

#include "clock.h"

namespace gpusim::cpu_clock {

// The calling thread has worked for so long.
void ran(Ns ns);

}  // namespace gpusim::cpu_clock

extern "C" {
// The calling thread is blocked for `ns` nanoseconds, virtual or real. Workloads call it.
__attribute__((visibility("default"))) void gpusim_block_ns(uint64_t ns);
// Present only in stepped mode: what recorders read in place of the calling thread's CPU clock.
__attribute__((visibility("default"))) void gpushim_test_cpu_clock(uint64_t* ns);
}
