// Whole numbers from fractions without libm, which every process that is started with the preload would map:
// a fifth of what loading us takes. What is beyond 2^62 stays there, and no number at all is -2^62. Any
// thread.
#pragma once

#include <cstdint>

namespace gpushim::shim {

inline int64_t rounded_down(double value) {
    constexpr double kMost = 0x1p62;
    const double in_range = value > kMost ? kMost : value >= -kMost ? value : -kMost;
    const auto whole = static_cast<int64_t>(in_range);
    return whole - (static_cast<double>(whole) > in_range ? 1 : 0);
}

inline int64_t rounded_up(double value) { return -rounded_down(-value); }

// Halves away from zero, as std::llround.
inline int64_t rounded(double value) {
    return value < 0 ? rounded_up(value - 0.5) : rounded_down(value + 0.5);
}

}  // namespace gpushim::shim
