// The known span of one GPU in a piece, cut where whole steps begin and end.
//
//   known      |────────────────────────────────|
//   steps             |── 4 ──|── 5 ──|    |── 6 ──|     6 is not whole here: nobody gives it
//   segments   |─ -1 ─|── 4 ──|── 5 ──|── -1 ───|
//
// Plain values; any thread.
#pragma once

#include <span>
#include <vector>

#include "part.h"

namespace gpushim::analysis {

struct Segment {
    int64_t from_ns, until_ns;
    int32_t step;  // kNoStep: of no whole step
};

// They tile `known`; empty: there is nothing to cut. Steps by begin; what lies outside is left out.
std::vector<Segment> cut_at_steps(Interval known, std::span<const WholeStep> steps);

// Where segments but the first begin.
std::vector<int64_t> boundaries_of(std::span<const Segment> segments);

// The segment of times that only grow. One thread.
class SegmentCursor {
  public:
    explicit SegmentCursor(std::span<const Segment> segments = {}) : segments_(segments) {}

    // Index into the segments; none holds it: their number.
    size_t at(int64_t t_ns) {
        while (index_ < segments_.size() && segments_[index_].until_ns <= t_ns) ++index_;
        return index_ < segments_.size() && segments_[index_].from_ns <= t_ns ? index_ : segments_.size();
    }

  private:
    std::span<const Segment> segments_;
    size_t index_ = 0;
};

// The length of the union of spans that come nearly in order, by segment. Spans may come late by so many
// others that are apart from each other as kKept says; of what comes later, the part that is settled is left
// out.
class UnionBySegment {
  public:
    explicit UnionBySegment(std::span<const Segment> segments = {})
        : segments_(segments), ns_(segments.size()) {}

    void add(int64_t start_ns, int64_t end_ns) {
        if (end_ns <= start_ns) return;
        if (!spans_.empty() && start_ns <= spans_.back().end_ns) {
            Interval& last = spans_.back();
            if (start_ns < last.start_ns) return put_in(start_ns, end_ns);
            if (end_ns > last.end_ns) last.end_ns = end_ns;
            return;
        }
        if (spans_.empty() && start_ns < settled_ns_) return put_in(start_ns, end_ns);
        spans_.push_back({start_ns, end_ns});
        if (spans_.size() >= 2 * kKept) settle(kKept);
    }
    const std::vector<int64_t>& finish();  // by segment; nothing is added after it

  private:
    static constexpr size_t kKept = 256;
    void put_in(int64_t start_ns, int64_t end_ns);
    void settle(size_t count);
    void count_over(Interval span);

    std::span<const Segment> segments_;
    std::vector<int64_t> ns_;
    size_t segment_ = 0;
    std::vector<Interval> spans_;  // by start, apart from each other
    int64_t settled_ns_ = INT64_MIN;
};

}  // namespace gpushim::analysis
