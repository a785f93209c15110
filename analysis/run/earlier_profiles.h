// Several profiles of one process: a profiler writes one for each of its cycles. They are no processes beside
// each other, so only the newest of them is taken.
//
//   process 7   |─trace 1─|        |─trace 2─|      trace 2 is taken
#pragma once

#include <string>
#include <vector>

#include "../trace/inputs.h"

namespace gpushim::analysis {

struct EarlierProfile {
    std::string trace, later;  // paths
};

// Those that it took away.
std::vector<EarlierProfile> leave_out_earlier_profiles(std::vector<Trace>& traces);

}  // namespace gpushim::analysis
