// The runs that a command is given, each as one line. Options that are asked for: samples-per-step, params,
// bandwidth.
#pragma once

#include <vector>

#include "../compare/summary.h"
#include "command.h"

namespace gpushim::analysis {

// In the order given; complete becomes false where a run could not be read as a whole. Throws Failure.
std::vector<RunSummary> open_summaries(const Arguments& arguments, bool& complete);

}  // namespace gpushim::analysis
