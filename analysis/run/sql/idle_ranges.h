// The program's own ranges that its hosts were in while GPUs were idle (view v_idle_range): which, and how
// much of that time. Read-only; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../../idle/cause.h"

struct sqlite3;

namespace gpushim::analysis {

struct IdleRange {
    std::optional<std::string> domain;  // NVTX's; none: the default one
    std::string name;
    double idle_share;  // of the idle time of these causes, of all GPUs in windows
    double over_share;  // the same, of ranges that were over when what ran next was launched
};

// In idle time of these causes (nullptr: of all), the largest first, without those that have no name. Empty:
// none was open then, or the run was written before there was such a table.
std::vector<IdleRange> idle_ranges(sqlite3* run, const Causes* causes, int64_t most);

}  // namespace gpushim::analysis
