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
    // Steps that had ended by `until_ns`, in the order of their begins, each once. One that is told later
    // than its successors were taken is left out.
    template <class Take>
    void take_settled(int64_t until_ns, Take take);
    size_t size() const { return steps_.size(); }

    static constexpr size_t kMostSteps = 16'384;

  private:
    struct Step {
        int64_t begin_ns, length_ns;
        int64_t end_ns() const { return begin_ns + length_ns; }
    };
    std::deque<Step> steps_;                                // by begin
    int64_t marked_ns_ = INT64_MIN, taken_ns_ = INT64_MIN;  // begins
};

template <class Take>
void StepPace::take_settled(int64_t until_ns, Take take) {
    for (const Step& step : steps_) {
        if (step.begin_ns <= taken_ns_) continue;
        if (step.end_ns() > until_ns) return;
        taken_ns_ = step.begin_ns;
        take(step.begin_ns, step.length_ns);
    }
}

}  // namespace gpushim::analysis
