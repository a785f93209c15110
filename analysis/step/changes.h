// Where steps of one run became slower or quicker for good. A change divides the series at one step: the
// medians of both sides lie apart by more than they may by chance, as blocks of neighbouring steps vary
// (median_shift.h), and by enough to matter. Waves, single long steps and what comes every n steps are none.
//
//   steps   5 5 6 5 5 6 5 5 5 6 8 8 9 8 8 8 9 8 8      a change at the tenth: 5 before, 8 since
//
// How often it is wrong and how late it is: test/unit/analysis/step_changes_test.cpp. Pure; of n steps at
// most a few times n log n.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "median_shift.h"

namespace gpushim::analysis {

struct StepChange {
    size_t at;          // index of the first step behind it
    MedianShift shift;  // from what is before it, back to the change before, to what follows, up to the next
};

constexpr size_t kFewestAroundChange = kFewestBlocks * kShortestBlock;  // steps on either side of a change
constexpr size_t kMostChanges = 5;

// In order.
std::vector<StepChange> find_changes(std::span<const int64_t> lengths_ns);

}  // namespace gpushim::analysis
