#include "step_cuts.h"

#include <algorithm>

namespace gpushim::analysis {

std::vector<Segment> cut_at_steps(Interval known, std::span<const WholeStep> steps) {
    std::vector<Segment> segments;
    int64_t at_ns = known.start_ns;
    const auto put = [&](int64_t until_ns, int32_t step) {
        if (until_ns > at_ns) segments.push_back({at_ns, until_ns, step});
        at_ns = std::max(at_ns, until_ns);
    };
    for (const WholeStep& step : steps) {
        if (step.span.start_ns < at_ns || step.span.end_ns > known.end_ns) continue;
        put(step.span.start_ns, kNoStep);
        put(step.span.end_ns, step.step);
    }
    put(known.end_ns, kNoStep);
    return segments;
}

std::vector<int64_t> boundaries_of(std::span<const Segment> segments) {
    std::vector<int64_t> result;
    for (size_t i = 1; i < segments.size(); ++i) result.push_back(segments[i].from_ns);
    return result;
}

void UnionBySegment::put_in(int64_t start_ns, int64_t end_ns) {
    Interval span = {std::max(start_ns, settled_ns_), end_ns};
    if (span.end_ns <= span.start_ns) return;
    const auto first = std::partition_point(
        spans_.begin(), spans_.end(), [&](const Interval& other) { return other.end_ns < span.start_ns; });
    auto last = first;
    for (; last != spans_.end() && last->start_ns <= span.end_ns; ++last) {
        span.start_ns = std::min(span.start_ns, last->start_ns);
        span.end_ns = std::max(span.end_ns, last->end_ns);
    }
    spans_.insert(spans_.erase(first, last), span);
}

// Of one that may lie in several segments, or behind the last.
void UnionBySegment::count_over(Interval span) {
    while (segment_ < segments_.size() && segments_[segment_].until_ns <= span.start_ns) ++segment_;
    for (size_t s = segment_; s < segments_.size() && segments_[s].from_ns < span.end_ns; ++s)
        ns_[s] +=
            std::min(span.end_ns, segments_[s].until_ns) - std::max(span.start_ns, segments_[s].from_ns);
}

void UnionBySegment::settle(size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const Interval& span = spans_[i];
        const bool is_within = segment_ < segments_.size() && segments_[segment_].from_ns <= span.start_ns &&
                               span.end_ns <= segments_[segment_].until_ns;
        if (is_within)
            ns_[segment_] += span.end_ns - span.start_ns;  // most
        else
            count_over(span);
    }
    if (count != 0) settled_ns_ = spans_[count - 1].end_ns;
    spans_.erase(spans_.begin(), spans_.begin() + static_cast<std::ptrdiff_t>(count));
}

const std::vector<int64_t>& UnionBySegment::finish() {
    settle(spans_.size());
    return ns_;
}

}  // namespace gpushim::analysis
