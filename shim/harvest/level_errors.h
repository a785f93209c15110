// How sure device times are, each combination once: bounds are rounded outwards to steps of an eighth of an
// octave, so that few rows say it for all operations. Where they become many after all, to whole octaves, and
// then to eight: their number is bounded. The writer's thread only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "../schema/rows.h"
#include "time_bounds.h"

namespace gpushim::shim {

enum class Steps : uint8_t { eighths, octaves, eight_octaves };

// The next step at or above; of nothing, nothing.
int64_t rounded_up(int64_t ns, Steps steps = Steps::eighths);

class LevelErrors {
  public:
    // `level`: what tells the times. Above `most` combinations steps become larger, above twice as many once
    // more.
    explicit LevelErrors(const char* level, size_t most = 16384) : level_(level), most_(most) {}

    int64_t id(const OperationTimes& times, int events);

    RowsOf<row::level_error> rows;

  private:
    using Key = std::array<int64_t, 7>;
    struct Hash {
        size_t operator()(const Key& key) const;
    };
    struct Cached {
        Key key = {-1};
        int64_t id = 0;
    };
    static constexpr size_t kCached = 256;
    Cached& cached(const Key& key) { return cached_[Hash()(key) % kCached]; }
    int64_t find(const OperationTimes& times, int events, Steps steps);
    Steps steps() const;

    const char* const level_;
    const size_t most_;
    std::unordered_map<Key, int64_t, Hash> ids_;
    std::array<Cached, kCached> cached_;  // operations are alike
    int64_t last_id_ = 0;
};

}  // namespace gpushim::shim
