// Goes through the calls of one trace once, and gives them to all parts: as they were recorded, and piece by
// piece as they would have been without our events. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "../../busy/busy.h"
#include "part.h"

namespace gpushim::analysis {

// Of a collective's kernel, by the call that launched it: how long it waited for other ranks, from its start
// on.
struct LaunchWait {
    int64_t enter_ns, wait_ns;
};
using LaunchWaits = std::span<const LaunchWait>;  // by enter, each once

// How busy each device was comes with it. The parts' rows are in `run` afterwards.
std::vector<DeviceBusy> pass_over(const TraceFacts& facts, LaunchWaits waits, RunDb& run);
// The same by these parts alone.
std::vector<DeviceBusy> pass_over(const TraceFacts& facts, LaunchWaits waits, RunDb& run,
                                  std::vector<std::unique_ptr<Part>> parts);

}  // namespace gpushim::analysis
