#include "activity_sweep.h"

#include <algorithm>
#include <utility>

namespace gpushim::analysis {

void ActivitySweep::put_rows(std::vector<int64_t>& sums, int32_t step) {
    for (uint32_t classes = 0; classes <= most_mask_; ++classes)
        if (const int64_t ns = std::exchange(sums[classes], 0)) rows_.push_back({step, classes, ns});
}

void ActivitySweep::begin(std::span<const Segment> segments) {
    segments_ = segments;
    segment_ = 0;
    mask_ = 0;
    counts_ = {};
    ends_.clear();
    busy_.clear();
    at_ns_ = segments.empty() ? INT64_MAX : segments.front().from_ns;
    if (!segments.empty()) enter_segment();
}

void ActivitySweep::advance_over(int64_t t_ns) {
    while (t_ns > segment_until_ns_) {
        sums_[mask_] += segment_until_ns_ - at_ns_;
        at_ns_ = segment_until_ns_;
        leave_segment();
        if (++segment_ == segments_.size()) {
            at_ns_ = INT64_MAX;  // behind the last one nothing is summed
            return;
        }
        enter_segment();
    }
    advance(t_ns);
}

void ActivitySweep::enter_segment() {
    segment_until_ns_ = segments_[segment_].until_ns;
    sums_ = segments_[segment_].step == kNoStep ? rest_sums_.data() : step_sums_.data();
}

void ActivitySweep::leave_segment() {
    if (segments_[segment_].step != kNoStep) put_rows(step_sums_, segments_[segment_].step);
}

void ActivitySweep::end() {
    if (segments_.empty()) return;
    const int64_t end_ns = segments_.back().until_ns;
    run_to(end_ns);
    if (segment_ < segments_.size()) leave_segment();
    segment_ = segments_.size();
    at_ns_ = INT64_MAX;
}

void ActivitySweep::take_busy(std::vector<Interval>& into) {
    if (segments_.empty()) return;
    const int64_t end_ns = segments_.back().until_ns;
    if (mask_ != 0) {
        const int64_t now_ns = std::min(at_ns_, end_ns);
        busy_.push_back({busy_from_ns_, now_ns});
        busy_from_ns_ = now_ns;
    }
    for (const Interval& span : busy_) {
        const Interval known = {std::max(span.start_ns, segments_.front().from_ns),
                                std::min(span.end_ns, end_ns)};
        if (known.length_ns() > 0) into.push_back(known);
    }
    busy_.clear();
}

std::vector<ActivityRow> ActivitySweep::finish() {
    put_rows(rest_sums_, kNoStep);
    return std::move(rows_);
}

}  // namespace gpushim::analysis
