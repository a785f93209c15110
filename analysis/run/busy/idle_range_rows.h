// Idle time in the program's own ranges, as rows of `idle_range`: added up piece by piece, because each step
// has many. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "idle_sums.h"
#include "own_ranges.h"

namespace gpushim::analysis {

class RunDb;

class IdleRangeRows {
  public:
    explicit IdleRangeRows(const TraceFacts& facts) : facts_(facts), of_gpu_(facts.gpus.size()) {}

    void add(size_t gpu, const RangeIdle& sums);
    void write(RunDb& run, std::span<const OwnRangeName> names) const;

  private:
    std::string_view steps_of(int32_t step) const;

    const TraceFacts& facts_;
    std::vector<std::map<std::tuple<std::string_view, Cause, int32_t>, RangeSum>> of_gpu_;
};

}  // namespace gpushim::analysis
