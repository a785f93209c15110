// Times as a trace can have them. A damaged or hostile file may say anything: a century is no run and a year
// is no call, and with these bounds sums of a few of them are still numbers. What is within is as it was.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gpushim::analysis {

constexpr int64_t kYearNs = int64_t{365} * 86'400 * 1'000'000'000;
constexpr int64_t kCenturyNs = 100 * kYearNs;

inline int64_t plausible_time(int64_t ns) { return std::clamp(ns, -kCenturyNs, kCenturyNs); }
inline int64_t plausible_span(int64_t ns) { return std::clamp(ns, -kYearNs, kYearNs); }

}  // namespace gpushim::analysis
