// How far the figures can be trusted, of several ranks the worst: what the verdict and the section of trust
// both say. One thread.
#pragma once

#include <optional>
#include <string>

#include "source.h"

namespace gpushim::analysis {

struct TrustFigures {
    std::string level;  // the least that any GPU has; without GPUs that of the ranks
    std::optional<double> coverage, timed_share, own_cost_share, budget, writer_share;
    std::optional<double> most_cost_share;  // of processes at least a tenth as long as the longest
    int64_t processes = 0;
    std::optional<int64_t> windows, clock_error_ns, latency_ns;
    std::optional<int64_t> calibrated_ns;  // the latency if it was calibrated
    bool is_calibrated = false;            // which traces tell
};

TrustFigures trust_figures(const Database& run);

// Of the operations in windows, of all GPUs that were timed: less than half have times, and what these leave
// open is more than a little. None: all is well; else what share has some.
std::optional<double> too_low_coverage(const ReportSource& source);

std::string source_of_times(const std::string& level);  // as people call it

}  // namespace gpushim::analysis
