// When at least one of several GPUs was busy, whatever process launches for it: read from the traces again,
// for one span at a time, since sums of each GPU do not say what ran at the same time.
//
//   GPU 0   ██████──────██           trace 1
//   GPU 1   ────██████────           trace 2, its clock moved to the first one's
//   union   ██████████──██
#pragma once

#include <optional>
#include <span>

#include "../pass/facts.h"

namespace gpushim::analysis {

struct BusySpan {
    const TraceFacts* facts;
    Interval step;      // by its own clock
    int64_t offset_ns;  // what to add to have the common one
};

// Busy of each GPU that was active in its trace's span, and of all together. None: something that was asked
// for in a span, or shortly before, has no device times.
struct BusyTogether {
    std::vector<int64_t> busy_ns;
    int64_t union_ns;
};
std::optional<BusyTogether> busy_together(std::span<const BusySpan> spans);

}  // namespace gpushim::analysis
