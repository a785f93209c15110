// A ratio of a whole run from windows of it: Σ part ÷ Σ whole, and where the run's own ratio lies with 95 %
// confidence, by drawing windows again and again (a bootstrap with a fixed seed: the same windows give the
// same answer). Few windows say little about their own spread, so what is cut off at both ends is that of
// Student's t. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace gpushim::analysis {

struct PartOf {
    int64_t part_ns;
    int64_t whole_ns;
};

std::optional<double> ratio_of(std::span<const PartOf> windows);  // none: nothing in them

struct Range {
    double low, high;
};
// Of at least two windows; else none: one window does not tell how the others were.
std::optional<Range> sampling_range(std::span<const PartOf> windows);

}  // namespace gpushim::analysis
