// Numbers as text, read exactly: a double holds microseconds since 1970 only to a quarter of one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gpushim::analysis {

// text · 10^shift, rounded to the nearest integer, halves away from zero: scaled("1682725898236567.1234", 3)
// is 1682725898236567123. None: not a number from end to end, or beyond int64_t.
std::optional<int64_t> scaled(std::string_view text, int shift);
inline std::optional<int64_t> integer(std::string_view text) { return scaled(text, 0); }
std::optional<double> real(std::string_view text);  // finite ones only

}  // namespace gpushim::analysis
