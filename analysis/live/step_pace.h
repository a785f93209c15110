// How long the steps of one rank take, from their begins and lengths as these become known: the newest minute
// of them, and no more than kMostSteps. Pure; one thread.
//
//   steps     | | | | | | | | | | | | | | | | | | | | |||||||| |||||||
//   compared  |────────────── 50 s before ───────────|── newest 10 s ──|
//   course    |─ 5 s ─|─ 5 s ─|─ 5 s ─| …                               its last point is the newest one
#pragma once

#include <cstdint>
#include <deque>

#include "figures.h"

namespace gpushim::analysis {

class StepPace {
  public:
    // Told again, a step counts once.
    void add(int64_t begin_ns, int64_t length_ns);
    // What began a step is known, not when it ends: by the next one of these.
    void mark(int64_t begin_ns);
    PaceNow at(int64_t now_ns);  // forgets what is too old
    size_t size() const { return steps_.size(); }

    static constexpr size_t kMostSteps = 16'384;

  private:
    struct Step {
        int64_t begin_ns, length_ns;
        int64_t end_ns() const { return begin_ns + length_ns; }
    };
    std::deque<Step> steps_;  // by begin
    int64_t marked_ns_ = INT64_MIN;
};

}  // namespace gpushim::analysis
