// The pieces in which a trace's windows are gone through: so short that the calls of one fit into memory.
//
//   windows   |───────────────|─────────────|         |──────────|     those on the left follow each other
//   steps       |    |    |    |    |    |              |    |
//   pieces    |─────────|───────────────────|         |──────────|     parted where a step begins
//
// A step that is longer than windows are is one piece, if it has fewer than 400,000 operations and takes less
// than ten minutes.
// Pure; any thread.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "../interval/interval.h"
#include "../trace/call.h"

namespace gpushim::analysis {

struct PlannedPiece {
    Interval host;
    std::vector<Window> windows;  // a row for each device: one without a row had nothing to do
};

// `windows` by enter. Pieces are parted at the next of `cuts`, which are ascending; none: anywhere.
std::vector<PlannedPiece> pieces_of(std::span<const Window> windows, const std::set<int64_t>& devices,
                                    std::span<const int64_t> cuts);

}  // namespace gpushim::analysis
