// The part that keeps the calls of the typical and of the worst step of a rank: of steps that were timed
// whole, where there are any. Where there are no steps, it keeps the begin of the slice in which half of the
// operations had been called, as an excerpt of the run.
#pragma once

#include <memory>
#include <vector>

#include "../pass/part.h"

namespace gpushim::analysis {

std::unique_ptr<Part> make_kept_part(const TraceFacts& facts);

// Of steps in order of their length the one of the median. Not the trace's first, where there are enough
// others: what ran at its begin was launched before anything was recorded, so its GPU would be drawn empty.
size_t typical_of(std::vector<size_t> by_length);

}  // namespace gpushim::analysis
