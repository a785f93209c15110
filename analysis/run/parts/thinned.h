// Values over time in at most so many parts of the same length.
//
//   held    ──┐  ┌────┐                of each part the mean, by time, and the highest
//           2 └──┘    └──  1
//   parts   |────|────|────|
//
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpushim::analysis {

struct TimedValue {
    int64_t at_ns;
    double value;
};

struct ThinnedPart {
    int64_t from_ns;
    double mean, most;
};

// samples: in order of time; parts without any are left out.
std::vector<ThinnedPart> thinned_samples(const std::vector<TimedValue>& samples, size_t parts);

// Each change holds until the next one, the last until end_ns.
class ThinnedSteps {
  public:
    ThinnedSteps(int64_t begin_ns, int64_t end_ns, size_t parts);
    void add(const TimedValue& change);  // in order of time
    std::vector<ThinnedPart> finish();   // once

  private:
    void hold_until(int64_t until_ns);

    int64_t begin_ns_, end_ns_, length_ns_;
    int64_t now_ns_;
    double value_ = 0;
    std::vector<double> sums_, mosts_;  // of value * ns
};

}  // namespace gpushim::analysis
