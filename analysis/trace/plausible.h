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

// Of one row. Who reads rows leaves those out that cannot be, and CALLS says how many there are.
constexpr int64_t kLargestBytes = int64_t{1} << 50, kMostCalls = int64_t{1} << 50;
constexpr bool is_plausible_call(int64_t ns) { return ns >= 0 && ns <= kYearNs; }
constexpr bool is_plausible_size(int64_t bytes) { return bytes >= 0 && bytes <= kLargestBytes; }
constexpr bool is_plausible_count(int64_t calls) { return calls >= 1 && calls <= kMostCalls; }

}  // namespace gpushim::analysis
