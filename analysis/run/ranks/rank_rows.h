// The rows of a run about its ranks: of each as a whole (rank, gpu, step, drop, environment), one thread for
// each trace; and of all beside each other, one thread.
#pragma once

#include <span>

#include "../../busy/busy.h"
#include "../pass/facts.h"
#include "skew_replay.h"

namespace gpushim::analysis {

class RunDb;
struct CollectiveRun;

void write_rank(const TraceFacts& facts, std::span<const DeviceBusy> busy, RunDb& run);

// When all parts have written their rows, which these read.
void write_clocks(const CollectiveRun& all, RunDb& run);
void write_skew(const CollectiveRun& all, const ReplayLimits& limits, RunDb& run);
void write_across(const CollectiveRun& all, RunDb& run);
void write_first_gpu(const CollectiveRun& all, RunDb& run);
void write_together(const CollectiveRun& all, RunDb& run);  // reads skew
// All of these.
void write_between_ranks(const CollectiveRun& all, RunDb& run, const ReplayLimits& limits = {});

}  // namespace gpushim::analysis
