// Ticks to CLOCK_MONOTONIC: straight lines between the pairs that were read, oldest first. Ticks before the
// first pair or after the last are put on the line through it and the nearest one that is a while away: the
// error of a reading counts the more, the closer two of them are. Who can, adds a pair first. One thread.
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
        if (ticks < pairs_.front().ticks) return on_line(pairs_.front(), *away_from_first(), ticks);
        if (ticks > pairs_.back().ticks) return on_line(*away_from_last(), pairs_.back(), ticks);
        const auto after = std::upper_bound(pairs_.begin() + 1, pairs_.end() - 1, ticks,
                                            [](uint64_t t, const ClockPair& pair) { return t < pair.ticks; });
        return on_line(*(after - 1), *after, ticks);
    }

    static constexpr int64_t kAwayNs = 20'000'000;

  private:
    using Place = std::vector<ClockPair>::const_iterator;
    // The last where none is so far away.
    Place away_from_first() const {
        const Place far = std::find_if(pairs_.begin() + 1, pairs_.end(), [this](const ClockPair& pair) {
            return apart(pairs_.front(), pair) >= kAwayNs;
        });
        return far != pairs_.end() ? far : pairs_.end() - 1;
    }
    Place away_from_last() const {
        Place place = pairs_.end() - 2;
        while (place != pairs_.begin() && apart(*place, pairs_.back()) < kAwayNs) --place;
        return place;
    }

    // 128 bits: a damaged file may say anything, and a day of nanoseconds times a day of ticks is as long.
    static __int128 apart(const ClockPair& a, const ClockPair& b) {
        return static_cast<__int128>(b.mono_ns) - a.mono_ns;
    }
    static int64_t on_line(const ClockPair& a, const ClockPair& b, uint64_t ticks) {
        const auto offset = static_cast<__int128>(static_cast<int64_t>(ticks - a.ticks));
        const __int128 after = offset * apart(a, b) / static_cast<int64_t>(b.ticks - a.ticks);
        return static_cast<int64_t>(static_cast<uint64_t>(a.mono_ns) + static_cast<uint64_t>(after));
    }

    size_t most_;
    std::vector<ClockPair> pairs_;
};

}  // namespace gpushim::shim
