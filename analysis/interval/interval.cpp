#include "interval.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpushim::analysis {

namespace {

bool is_before(const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; }

Intervals united(std::vector<Interval> by_start) {
    size_t count = 0;
    for (const Interval& span : by_start) {
        if (count != 0 && span.start_ns <= by_start[count - 1].end_ns)
            by_start[count - 1].end_ns = std::max(by_start[count - 1].end_ns, span.end_ns);
        else
            by_start[count++] = span;
    }
    by_start.resize(count);
    return by_start;
}

}  // namespace

Intervals unite(std::vector<Interval> any) {
    std::erase_if(any, [](const Interval& span) { return span.end_ns <= span.start_ns; });
    if (!std::is_sorted(any.begin(), any.end(), is_before)) std::sort(any.begin(), any.end(), is_before);
    return united(std::move(any));
}

Intervals unite(const Intervals& a, const Intervals& b) {
    std::vector<Interval> both;
    both.reserve(a.size() + b.size());
    std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both), is_before);
    return united(std::move(both));
}

Intervals intersect(const Intervals& a, const Intervals& b) {
    Intervals result;
    for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        const Interval span = {std::max(a[i].start_ns, b[j].start_ns), std::min(a[i].end_ns, b[j].end_ns)};
        if (span.end_ns > span.start_ns) result.push_back(span);
        if (a[i].end_ns < b[j].end_ns)
            ++i;
        else
            ++j;
    }
    return result;
}

Intervals subtract(const Intervals& from, const Intervals& what) {
    if (from.empty()) return {};
    return intersect(from, gaps(what, {from.front().start_ns, from.back().end_ns}));
}

Intervals clip(const Intervals& intervals, Interval within) {
    return within.end_ns > within.start_ns ? intersect(intervals, {within}) : Intervals{};
}

Intervals gaps(const Intervals& intervals, Interval within) {
    Intervals result;
    int64_t from_ns = within.start_ns;
    for (const Interval& span : intervals) {
        if (span.start_ns >= within.end_ns) break;
        if (span.start_ns > from_ns) result.push_back({from_ns, span.start_ns});
        from_ns = std::max(from_ns, span.end_ns);
    }
    if (from_ns < within.end_ns) result.push_back({from_ns, within.end_ns});
    return result;
}

int64_t length_ns(const Intervals& intervals) {
    int64_t sum_ns = 0;
    for (const Interval& span : intervals) sum_ns += span.length_ns();
    return sum_ns;
}

void GrowingUnion::add(Interval span) {
    constexpr size_t kNear = 32;  // spans that one is looked for among, from the last one on
    if (span.end_ns <= span.start_ns) return;
    if (spans_.empty() || span.start_ns > spans_.back().end_ns) return spans_.push_back(span);
    if (span.start_ns >= spans_.back().start_ns) {
        spans_.back().end_ns = std::max(spans_.back().end_ns, span.end_ns);
        return;
    }
    const size_t first = spans_.size() > kNear ? spans_.size() - kNear : 0;
    if (first != 0 && is_before(span, spans_[first - 1])) return add_late(span);
    size_t at = place_of(span, first);
    if (at != 0 && span.start_ns <= spans_[at - 1].end_ns) {
        --at;
        spans_[at].end_ns = std::max(spans_[at].end_ns, span.end_ns);
    } else {
        spans_.insert(spans_.begin() + static_cast<std::ptrdiff_t>(at), span);
    }
    last_put_ = at;
    size_t after = at + 1;
    for (; after < spans_.size() && spans_[after].start_ns <= spans_[at].end_ns; ++after)
        spans_[at].end_ns = std::max(spans_[at].end_ns, spans_[after].end_ns);
    if (after != at + 1)
        spans_.erase(spans_.begin() + static_cast<std::ptrdiff_t>(at + 1),
                     spans_.begin() + static_cast<std::ptrdiff_t>(after));
}

// Behind those that begin no later. Of several streams that are apart, each goes on where it was.
size_t GrowingUnion::place_of(Interval span, size_t first) const {
    const size_t next = last_put_ + 1;
    const bool goes_on = last_put_ >= first && next < spans_.size() && !is_before(span, spans_[last_put_]) &&
                         is_before(span, spans_[next]);
    if (goes_on) return next;
    const auto near = spans_.begin() + static_cast<std::ptrdiff_t>(first);
    return static_cast<size_t>(std::upper_bound(near, spans_.end(), span, is_before) - spans_.begin());
}

void GrowingUnion::add_late(Interval span) {
    late_.push_back(span);
    if (late_.size() >= spans_.size() + 4096) shrink();
}

void GrowingUnion::shrink() {
    spans_ = unite(spans_, unite(std::move(late_)));
    late_ = {};
}

Intervals GrowingUnion::take() {
    if (!late_.empty()) shrink();
    return std::exchange(spans_, {});
}

}  // namespace gpushim::analysis
