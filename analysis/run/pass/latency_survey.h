// How long a launch takes to start on an empty GPU, and how far operations are apart that wait in a queue:
// from the first operations of the trace that have device times, or where the recorder calibrated it, from
// that. What our events add is taken off as far as it is known. One thread.
#pragma once

#include "facts.h"

namespace gpushim::analysis {

// Not one of which it is known too badly when it began, as of one whose call loaded code meanwhile.
inline bool tells_latency(const Call& call) {
    constexpr int64_t kSureNs = 20'000;
    return call.times.likely_ns <= kSureNs;
}

void survey_latencies(TraceFacts& facts);  // fills in gpus[].idle and clock_error_ns

}  // namespace gpushim::analysis
