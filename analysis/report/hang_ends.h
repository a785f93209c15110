// How traces end: what a hang is judged by (hang.h). Only the last rows of each table are read, and of a
// process that lives its rings. One thread.
#pragma once

#include <optional>
#include <vector>

#include "../trace/inputs.h"
#include "hang.h"

namespace gpushim::analysis {

// None: a trace does not say how it ended, as imported ones.
std::optional<std::vector<LastSeen>> ends_of(const std::vector<Trace>& traces);

}  // namespace gpushim::analysis
