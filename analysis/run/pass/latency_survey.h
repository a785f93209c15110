// How long a launch takes to start on an empty GPU, and how far operations are apart that wait in a queue:
// from the first operations of the trace that have device times, or where the recorder calibrated it, from
// that. What our events add is taken off as far as it is known. One thread.
#pragma once

#include "facts.h"

namespace gpushim::analysis {

// Not one that took long, because it loaded code, say: when its operation began is a guess then. Nor one
// whose operation began long before it: a clock jumped.
inline bool tells_latency(const Call& call) {
    constexpr int64_t kLongNs = 50'000;
    return call.exit_ns - call.enter_ns < kLongNs && call.enter_ns - call.times.start_ns < kLongNs;
}

void survey_latencies(TraceFacts& facts);  // fills in gpus[].idle and clock_error_ns

}  // namespace gpushim::analysis
