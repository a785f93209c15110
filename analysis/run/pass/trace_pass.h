// Goes through the calls of one trace once, and gives them to all parts: as they were recorded, and piece by
// piece as they would have been without our events. One thread.
#pragma once

#include "../../busy/busy.h"
#include "../collectives/collectives.h"
#include "part.h"

namespace gpushim::analysis {

// How busy each device was comes with it. The parts' rows are in `run` afterwards.
std::vector<DeviceBusy> pass_over(const TraceFacts& facts, const Collectives& collectives, RunDb& run);

}  // namespace gpushim::analysis
