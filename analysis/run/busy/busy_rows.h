// Writes what the sweeps of one trace found: `activity`, `gpu_step`, `gap`, `together` and what belongs to
// them. Throws std::logic_error where the causes of idle time are not the idle time: that would be a fault of
// ours, and no figure of it could be trusted. One thread.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "gpu_sweep.h"

namespace gpushim::analysis {

class RunDb;

using UnionByStep = std::map<int32_t, int64_t>;  // ns in which any GPU was busy

void write_busy(RunDb& run, const TraceFacts& facts, std::vector<GpuSweep>& sweeps, const UnionByStep& any);

}  // namespace gpushim::analysis
