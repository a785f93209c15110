#include "governor.h"

#include <algorithm>
#include <iterator>

namespace gpushim::shim {
namespace {

constexpr int64_t kOpenNs[] = {kSlotNs, kSlotNs / 2, kSlotNs / 4, kSlotNs / 8, 600'000'000};

// What is measured varies. More is timed only where there is room for that, so that it does not become less
// again with the next measurement.
constexpr double kRoomForMore = 0.7;

}  // namespace

Plan Governor::plan(size_t level) {
    const size_t last = std::size(kOpenNs) - 1;
    return {kOpenNs[std::min(level, last)], int64_t{1} << (level > last ? level - last : 0)};
}

double share_taken(const Plan& plan, std::span<const ThreadLoad> loads) {
    double most = 0;
    for (const ThreadLoad& load : loads)
        most = std::max(most, load.always_share + plan.share() * load.window_share);
    return most;
}

// The one with most time; the last if none is within it.
size_t Governor::level_within(std::span<const ThreadLoad> loads, double share) const {
    size_t level = 0;
    while (level + 1 < kLevels && share_taken(plan(level), loads) > share) ++level;
    return level;
}

Plan Governor::decide(std::span<const ThreadLoad> loads) {
    const size_t allowed = level_within(loads, budget_share_);
    const size_t roomy = level_within(loads, kRoomForMore * budget_share_);
    level_ = std::clamp(level_, allowed, std::max(allowed, roomy));
    return plan(level_);
}

}  // namespace gpushim::shim
