// The rows of a run that are about a trace as a whole: rank, gpu, step, drop, environment. One thread for
// each trace.
#pragma once

#include <span>

#include "../../busy/busy.h"
#include "../pass/facts.h"

namespace gpushim::analysis {

class RunDb;

void write_rank(const TraceFacts& facts, std::span<const DeviceBusy> busy, RunDb& run);

}  // namespace gpushim::analysis
