// Goes through the calls of one trace once, and gives them to all parts: as they were recorded, and piece by
// piece as they would have been without our events. One thread.
#pragma once

#include <functional>

#include "../../busy/busy.h"
#include "part.h"

namespace gpushim::analysis {

// Of the kernel whose launch was entered then: how long it waited for other ranks, from its start on.
// kNotRecorded: it is no collective's, or not known.
using WaitOf = std::function<int64_t(int64_t launch_enter_ns)>;

// How busy each device was comes with it. The parts' rows are in `run` afterwards.
std::vector<DeviceBusy> pass_over(const TraceFacts& facts, const WaitOf& wait_of, RunDb& run);
// The same by these parts alone.
std::vector<DeviceBusy> pass_over(const TraceFacts& facts, const WaitOf& wait_of, RunDb& run,
                                  std::vector<std::unique_ptr<Part>> parts);

}  // namespace gpushim::analysis
