// What the host spent on submitting work to each GPU, by segment: how many operations, when the first came,
// the time in calls, and between two of them where the thread was launching as fast as it could.
//
//   thread    ═L═ ═L═   ═sync═ ═L═      ═L═        L: for this GPU
//   api_ns    |─| |─|          |─|      |─|        by the segment that the call was entered in
//   between      |                |────|           below 20 us, with no call between them that has a cause of
//                                                  its own (analysis/idle)
// Calls in order of enter. One thread.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "../../idle/host_line.h"
#include "../pass/facts.h"
#include "../pass/step_cuts.h"

namespace gpushim::analysis {

struct LaunchSums {
    int64_t operations = 0, timed = 0;
    int64_t api_ns = 0, between_ns = 0;
    std::optional<int64_t> first_enter_ns;
};

class LaunchFigures {
  public:
    void begin(std::span<const Segment> segments) {
        sums_.assign(segments.size(), {});
        segments_ = segments;
        cursor_ = SegmentCursor(segments);
        here_ = nullptr;
        span_ = {0, 0};
    }
    // A call for this GPU, and how long it came behind the last launch (LaunchLoop). The time in calls that
    // wait for what they submit, or copy it themselves, is none of launching.
    void add(const Call& call, What what, int64_t between_ns);
    const std::vector<LaunchSums>& sums() const { return sums_; }  // by segment

  private:
    bool enter_segment_at(int64_t t_ns);

    std::span<const Segment> segments_;
    std::vector<LaunchSums> sums_;
    SegmentCursor cursor_;
    Interval span_ = {0, 0};      // of the segment of the last call that is in one; empty: none was yet
    LaunchSums* here_ = nullptr;  // its sums
};

// Of one thread: how long it was between launches for the same GPU.
class LaunchLoop {
  public:
    // To be told of all calls but those of which nothing is known. Negative: not between two launches.
    int64_t between(const Call& call, What what, int32_t gpu);

  private:
    int64_t until_ns_ = INT64_MIN;  // of the call that ended last
    int32_t gpu_ = kNoGpu;          // … if it was a launch
};

}  // namespace gpushim::analysis
