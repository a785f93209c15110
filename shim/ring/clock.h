// Which clock the time stamps are of, and readings of all clocks at one moment. Chosen once, on the thread
// that starts recording; afterwards any thread.
#pragma once

#include <cstdint>

#include "ring_format.h"
#include "ticks.h"

namespace gpushim::shim {

struct ClockPair {
    uint64_t ticks;
    int64_t mono_ns;
    int64_t real_ns;
};

// The processor's counter where the kernel keeps its own time by it and it passes a check; the test clock
// where the program has one (gpushim_test_clock); else CLOCK_MONOTONIC.
ClockKind choose_clock();

// A function that the program or its driver may have; null: neither has it.
void* optional_function(const char* name);

// What `kind` and the two system clocks say at the same moment, to within the time of one reading.
ClockPair read_pair(ClockKind kind);

// What the trace's times are of; advances by calls of ours, too.
int64_t trace_now_ns();

}  // namespace gpushim::shim
