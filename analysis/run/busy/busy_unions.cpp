#include "busy_unions.h"

#include <algorithm>

namespace gpushim::analysis {

void BusyUnions::Untimed::add_some_to(UnionBySegment& sum, int64_t until_ns) {
    for (; next != spans.size() && spans[next].start_ns <= until_ns; ++next)
        sum.add(spans[next].start_ns, spans[next].end_ns);
}

void BusyUnions::begin(std::span<const Segment> segments, TimedSpan::Untimed untimed) {
    certain_ = UnionBySegment(segments);
    untimed_ = {std::move(untimed.all)};
    untimed_late_ = {std::move(untimed.late)};
    are_one_ = true;
    if (!untimed_.spans.empty() || !untimed_late_.spans.empty()) part();
}

void BusyUnions::part() {
    are_one_ = false;
    possible_ = at_least_ = at_most_ = certain_;
}

// What makes one estimate late makes others late, too: all that is likely is off to the same side.
void BusyUnions::add_to_each(const DeviceOp& op) {
    if (are_one_) part();
    untimed_.add_to(possible_, op.start_ns);
    untimed_late_.add_to(at_most_, op.start_ns);
    if (op.end_ns <= op.start_ns) return;
    const int32_t likely_ns = op.likely_ns(INT32_MAX);  // and no more than the bounds
    certain_.add(op.start_ns + op.start_after_ns, op.end_ns - op.end_before_ns);
    possible_.add(op.start_ns - op.start_before_ns, op.end_ns + op.end_after_ns);
    at_least_.add(op.start_ns + std::min(likely_ns, op.start_after_ns),
                  op.end_ns - std::min(likely_ns, op.end_before_ns));
    at_most_.add(op.start_ns - std::min(likely_ns, op.start_before_ns),
                 op.end_ns + std::min(likely_ns, op.end_after_ns));
}

BusyUnions::Sums BusyUnions::finish() {
    if (are_one_) {
        const auto& ns = certain_.finish();
        return {ns, ns, ns, ns};
    }
    untimed_.add_to(possible_, INT64_MAX);
    untimed_late_.add_to(at_most_, INT64_MAX);
    return {certain_.finish(), possible_.finish(), at_least_.finish(), at_most_.finish()};
}

}  // namespace gpushim::analysis
