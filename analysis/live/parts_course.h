// How the GPUs of one trace spent the windows that were read of it, newest last, so that what they were
// before a change can be told from what they are since. A change that is older than the windows kept has what
// was told of it while they were there. Plain values; one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>

#include "figures.h"

namespace gpushim::analysis {

class PartsCourse {
  public:
    // In the order of their begins; told again, a window counts once. One in which the change lies is of
    // neither side.
    void add(Interval span, const std::map<int64_t, GpuParts>& gpus);
    // Into the GPUs of `rank`, by its change.
    void put_around_change(RankNow& rank);

    static constexpr size_t kMostWindows = 128;

  private:
    struct Window {
        Interval span;
        std::map<int64_t, GpuParts> gpus;  // by device_id
    };
    std::map<int64_t, GpuParts> between(int64_t from_ns, int64_t until_ns) const;

    std::deque<Window> windows_;
    int64_t change_ns_ = 0;  // of which `before_` is
    std::map<int64_t, GpuParts> before_;
};

}  // namespace gpushim::analysis
