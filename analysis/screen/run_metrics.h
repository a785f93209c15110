// A run as it is now, as text for Prometheus (shim/schema/metrics.def, writer `watch`). What is not known has
// no line. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "../live/figures.h"

namespace gpushim::analysis {

// Whether the run hangs, as its watcher tells it.
struct HangNow {
    bool is_hung = false;
    std::set<int64_t> missing;    // ranks that it waits for
    std::vector<int64_t> absent;  // of those that have no trace
};

// `hang`: none where nobody has looked.
std::string run_metrics(const RunNow& run, const std::optional<HangNow>& hang);

}  // namespace gpushim::analysis
