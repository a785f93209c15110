// How many of each thing that rows share are told apart: by the size that the trace may have, so that all of
// them together take an eighth of it at most, and never more than what we may remember of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace gpushim::shim {

struct TableLimits {
    size_t texts = 65536, text_bytes = 8 << 20;
    size_t shapes = 65536;
    size_t functions = 65536;  // at a time
    size_t series = 65536;
    size_t level_errors = 16384;
    size_t graphs = 8192, graph_kernels = 262144;  // states of graphs, and kernels in all of them
};

constexpr TableLimits limits_of(int64_t max_bytes) {
    constexpr int64_t kEach = 4096, kLeast = 128, kTextShare = 32;
    constexpr int64_t kLeastTexts = 16384;
    constexpr TableLimits most;
    if (max_bytes == 0) return most;
    const auto count = static_cast<size_t>(std::clamp(max_bytes / kEach, kLeast, int64_t{65536}));
    const auto bytes = std::clamp(max_bytes / kTextShare, kLeastTexts, static_cast<int64_t>(most.text_bytes));
    return {count, static_cast<size_t>(bytes), count, count, count, count / 4, count / 8, count * 4};
}

}  // namespace gpushim::shim
