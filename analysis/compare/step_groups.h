// The steps of a run for a comparison: those that count, of all ranks as one job, in groups that are alike.
// A job's step takes as long as that of its slowest rank.
#pragma once

#include "side.h"

namespace gpushim::analysis {

// All steps first, then those of each signature that enough of them have. None: there are no steps.
std::vector<StepGroup> step_groups(const Database& run);

}  // namespace gpushim::analysis
