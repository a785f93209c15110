// What is known of a trace before its calls are gone through, in two parts: names and numbers, read at once;
// then its steps and latencies, for which its calls are read up to five times. One thread for each trace.
#pragma once

#include "facts.h"

namespace gpushim::analysis {

// Takes as many of the GPUs' numbers as the trace has devices in use.
TraceFacts make_facts(const Trace& trace, int64_t rank_id, int64_t& next_gpu_id, const RunOptions& options);
void find_steps(TraceFacts& facts);

// From its first call to the end of the last operation or wait; of another tool's trace also to the end of
// what ran. Not above 0 long: it has no calls.
Interval span_of(const Trace& trace);

}  // namespace gpushim::analysis
