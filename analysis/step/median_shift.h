// How far the median of one series of steps lies from another's, and within which bounds, by drawing blocks
// of neighbouring steps again and again (a block bootstrap with a fixed seed: the same steps give the same
// answer). Neighbours are alike, so single steps would promise more than they know. Pure.
//
//   steps    5 5 6 6 7 6 5 5 4 4 5 5 6 7 7 6     waves: 16 steps, but not 16 independent ones
//   blocks   |─────────|  |─────────|            drawn with whatever lies in them, from anywhere, round the
//   end
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace gpushim::analysis {

constexpr size_t kShortestBlock = 10, kFewestBlocks = 4;
constexpr double kShiftConfidence = 0.99;

struct MedianShift {
    double base_ns = 0, new_ns = 0;  // medians
    double low_ns = 0, high_ns = 0;  // of new - base, with kShiftConfidence
    size_t blocks = 0, block = 0;    // of the series with fewer of them; steps in one

    double shift_ns() const { return new_ns - base_ns; }
};

// The middle one of them by length; of an even number the mean of both.
double median_of(std::span<const int64_t> lengths_ns);

// Over how many steps what is above the median, or below it, goes on: the autocorrelation's sum, both ways.
double memory_of(std::span<const int64_t> lengths_ns);

// None: one of them has fewer than kFewestBlocks blocks.
std::optional<MedianShift> shift_of(std::span<const int64_t> base_ns, std::span<const int64_t> new_ns);

// Where there are too few steps for that: of two series that lie far apart, nine tenths of one above nine
// tenths of the other by a fifth and more. Bounds are those of nine tenths of either. None: they do not, or
// fewer than five.
std::optional<MedianShift> far_shift_of(std::span<const int64_t> base_ns, std::span<const int64_t> new_ns);

}  // namespace gpushim::analysis
