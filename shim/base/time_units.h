// Spans of time in nanoseconds. Constants alone: any thread.
#pragma once

#include <cstdint>

namespace gpushim::shim {

constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kSecond = 1'000'000'000;

}  // namespace gpushim::shim
