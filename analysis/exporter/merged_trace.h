// Several processes in one file: whose times count from what, and what stands before their events. Each of
// them is then a ChromeTrace with its part.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../sqlite/database.h"
#include "chrome_trace.h"

namespace gpushim::analysis {

struct SharedClock {
    std::vector<int64_t> shift_ns;  // of each process, to the times of the first one's host
    int64_t base_ns = 0;            // before all of them
    std::set<std::string>
        by_wall_clock;               // hosts whose clock no collective told: as exact as their wall clocks
    int64_t real_minus_mono_ns = 0;  // of the first one
};

// By what the run has found of the hosts' clocks.
SharedClock shared_clock(std::span<const ExportHead> heads, const Database& run);

// The head of the file; returns where its first process stands.
ChromePart begin_merged(TextFile& file, const SharedClock& clock, size_t processes, std::string_view of_what);

}  // namespace gpushim::analysis
