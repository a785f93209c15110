// The rows that a run's figures are of, as v_gpu_basis has them: each table is gone through once, in order,
// where the view looks for each row by its key. One thread.
#pragma once

#include <vector>

#include "counted_steps.h"

namespace gpushim::analysis {

// By gpu_id and step, with their bounds and what is known of their GPU. `totals`: gets one for each GPU that
// has some, with what they are.
std::vector<GpuInStep> rows_of_basis(sqlite3* run, std::vector<GpuTotal>& totals);

}  // namespace gpushim::analysis
