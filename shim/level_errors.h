// How sure device times are, each combination once: bounds are rounded outwards to steps of an eighth of an
// octave, so that few rows say it for all operations. The writer's thread only.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "operation_times.h"
#include "rows.h"

namespace gpushim::shim {

// The next step at or above; of nothing, nothing.
int64_t rounded_up(int64_t ns);

class LevelErrors {
  public:
    int64_t id(const OperationTimes& times, int events);

    RowsOf<9> rows{"level_error", 1u << 1};

  private:
    using Key = std::array<int64_t, 7>;
    std::map<Key, int64_t> ids_;
    int64_t last_id_ = 0;
};

}  // namespace gpushim::shim
