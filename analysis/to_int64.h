// Figures that are reckoned, as whole numbers. What a damaged file says may be reckoned to anything.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

namespace gpushim::analysis {

// The last number there is for what lies beyond all, 0 for what is none.
inline int64_t to_int64(double value) {
    constexpr double kBeyond = 0x1p63;
    if (std::isnan(value)) return 0;
    if (std::abs(value) >= kBeyond) return value > 0 ? INT64_MAX : INT64_MIN;
    return std::llround(value);
}

inline std::optional<int64_t> to_int64(std::optional<double> value) {
    return value ? std::optional(to_int64(*value)) : std::nullopt;
}

}  // namespace gpushim::analysis
