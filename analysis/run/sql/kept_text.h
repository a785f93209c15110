// What a run keeps of the names of calls: kept_text has as much of each.
#pragma once

#include <cstddef>

namespace gpushim::analysis {

constexpr size_t kLongestKeptText = 1024;  // bytes

}  // namespace gpushim::analysis
