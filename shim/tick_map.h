// Ticks to CLOCK_MONOTONIC: straight lines between the pairs that were read, oldest first. Ticks before the
// first pair or after the last are put on the nearest line; who can, adds a pair first. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "batch.h"

namespace gpushim::shim {

class TickMap {
  public:
    // Of `most` pairs the oldest half goes: what began before is mapped when it is first seen.
    explicit TickMap(size_t most = 4096) : most_(most) {}

    void add(const ClockPair& pair) {
        if (!pairs_.empty() && pair.ticks <= pairs_.back().ticks) return;
        if (pairs_.size() == most_)
            pairs_.erase(pairs_.begin(), pairs_.begin() + static_cast<long>(most_ / 2));
        pairs_.push_back(pair);
    }

    bool covers(uint64_t ticks) const { return !pairs_.empty() && ticks <= pairs_.back().ticks; }

    int64_t mono_ns(uint64_t ticks) const {
        if (pairs_.empty()) return 0;
        if (pairs_.size() == 1) return pairs_.front().mono_ns;
        const auto after = std::upper_bound(pairs_.begin() + 1, pairs_.end() - 1, ticks,
                                            [](uint64_t t, const ClockPair& pair) { return t < pair.ticks; });
        return on_line(*(after - 1), *after, ticks);
    }

  private:
    static int64_t on_line(const ClockPair& a, const ClockPair& b, uint64_t ticks) {
        // 128 bits: a day of nanoseconds times a day of ticks.
        const auto offset = static_cast<__int128>(static_cast<int64_t>(ticks - a.ticks));
        return a.mono_ns + static_cast<int64_t>(offset * (b.mono_ns - a.mono_ns) /
                                                static_cast<int64_t>(b.ticks - a.ticks));
    }

    size_t most_;
    std::vector<ClockPair> pairs_;
};

}  // namespace gpushim::shim
