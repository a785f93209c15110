// Figures of a row of nights: what they vary by, whether they creep, and where they changed. Pure.
//
//   ns   · · ·· · ·  |        · ·  ·          band: around the first ones
//                    | · · ··                 change_in: here the rest is another level
#pragma once

#include <optional>
#include <span>

namespace gpushim::analysis {

constexpr size_t kFewestForBand = 5, kFewestForCreep = 8;

struct Band {
    double middle, low, high;
};

// The median, and three standard deviations as the median of deviations (MAD) tells them, but at least
// `least_share` of it. None: too few nights.
std::optional<Band> band_of(std::span<const double> levels, double least_share);

// By what share of its first level a row of nights rose (Theil and Sen), if it surely did (Mann and Kendall,
// 99 %). None: too few, or it need not be more than noise.
std::optional<double> creep_of(std::span<const double> levels);

// The index of the first night behind the change that parts the row best into a lower and a higher level, by
// absolute deviations from the medians of both. None: fewer than two, or nothing rises.
std::optional<size_t> rise_in(std::span<const double> levels);

}  // namespace gpushim::analysis
