// How far the figures can be trusted, of several ranks the worst: what the verdict and the section of trust
// both say. One thread.
#pragma once

#include <optional>
#include <string>

#include "source.h"

namespace gpushim::analysis {

struct TrustFigures {
    std::string level;  // the least that any GPU has; without GPUs that of the ranks
    // Of the operations in windows; of those in steps that count, where some were timed as a whole.
    std::optional<double> coverage, steps_coverage;
    std::optional<double> timed_share, own_cost_share, budget, writer_share;
    std::optional<double> most_cost_share;  // of processes at least a tenth as long as the longest
    int64_t processes = 0;
    std::optional<int64_t> windows, clock_error_ns, latency_ns;
    std::optional<int64_t> calibrated_ns;  // the latency if it was calibrated
    bool is_calibrated = false;            // which traces tell

    // What figures stand on: a start-up without times is none of the steps'.
    std::optional<double> covered() const { return steps_coverage ? steps_coverage : coverage; }
    const char* of_what() const {
        return steps_coverage ? "of the operations in steps" : "of the operations in timed spans";
    }
};

TrustFigures trust_figures(const Database& run);

// "41.2 % of the operations in steps" have times, less than half, and what the others leave open is more than
// a little. None: all is well.
std::optional<std::string> too_few_with_times(const ReportSource& source);

std::string source_of_times(const std::string& level);  // as people call it

}  // namespace gpushim::analysis
