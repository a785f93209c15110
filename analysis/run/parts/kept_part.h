// The part that keeps the calls of the typical and of the worst step of a rank, so that a run can be drawn
// without its traces: writes kept_step, kept_call, kept_text and kept_track. Of steps that were timed whole,
// where there are any; of slices none.
#pragma once

#include <memory>

#include "../pass/part.h"

namespace gpushim::analysis {

constexpr int64_t kMostKeptRows = 20'000;  // of a step

std::unique_ptr<Part> make_kept_part(const TraceFacts& facts);

}  // namespace gpushim::analysis
