// The tokens and marks of a trace that its steps are found by. Read from it anew each time they are asked
// for: nobody keeps them. One thread.
#pragma once

#include "facts.h"

namespace gpushim::analysis {

// `facts` with its names; it must outlive the source. The first `most` of them.
TokenSource tokens_of(const TraceFacts& facts, int64_t most = INT64_MAX);
// What the program said of its steps: gpushim_step, ranges named ProfilerStep#N or as `marker` says, and the
// profiler's start and stop.
Marks marks_of(const Trace& trace, const std::string& marker);

}  // namespace gpushim::analysis
