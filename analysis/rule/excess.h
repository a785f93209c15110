// What of the transfers is more than they need. Each kind of excess has a rule, which says it where it is
// worth it; the rules about what is left (overlap, batch) look at transfers without it, for it is to be
// mended first. Shares of all transfers, 0 to 1. One thread.
#pragma once

#include <algorithm>

#include "traffic.h"

namespace gpushim::analysis {

constexpr int64_t kLatencyBound = 256 << 10;  // bytes; below, the rounds decide, not the bytes
constexpr double kReachedInPractice = 0.8;    // of a bandwidth: as good as it gets

double redundant_share(const Situation& run, const Traffic& traffic);
double latency_share(const Traffic& traffic);         // of small messages that could be few large ones
double below_expected_share(const Traffic& traffic);  // by the bandwidth
double slow_link_share(const Situation& run, const Traffic& traffic);

// Without all of these: they act on each other, so what is left of one has the others' excess, too.
inline double needed_share(const Situation& run, const Traffic& traffic) {
    // A slow link is why it is below what is expected, or is itself what was expected of.
    const double slow = std::max(below_expected_share(traffic), slow_link_share(run, traffic));
    return (1 - redundant_share(run, traffic)) * (1 - latency_share(traffic)) * (1 - slow);
}

}  // namespace gpushim::analysis
