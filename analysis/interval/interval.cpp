#include "interval.h"

#include <algorithm>

namespace gpushim::analysis {

Intervals unite(std::vector<Interval> any) {
    std::erase_if(any, [](const Interval& span) { return span.end_ns <= span.start_ns; });
    std::sort(any.begin(), any.end(),
              [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
    size_t count = 0;
    for (const Interval& span : any) {
        if (count != 0 && span.start_ns <= any[count - 1].end_ns)
            any[count - 1].end_ns = std::max(any[count - 1].end_ns, span.end_ns);
        else
            any[count++] = span;
    }
    any.resize(count);
    return any;
}

Intervals unite(const Intervals& a, const Intervals& b) {
    std::vector<Interval> both = a;
    both.insert(both.end(), b.begin(), b.end());
    return unite(std::move(both));
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
    if (span.end_ns <= span.start_ns) return;
    // Most come in order and continue the last.
    if (!spans_.empty() && span.start_ns >= spans_.back().start_ns && span.start_ns <= spans_.back().end_ns) {
        spans_.back().end_ns = std::max(spans_.back().end_ns, span.end_ns);
        return;
    }
    spans_.push_back(span);
    if (spans_.size() >= 2 * united_ + 4096) shrink();
}

void GrowingUnion::shrink() {
    spans_ = unite(std::move(spans_));
    united_ = spans_.size();
}

Intervals GrowingUnion::take() {
    Intervals all = unite(std::move(spans_));
    spans_ = {};
    united_ = 0;
    return all;
}

}  // namespace gpushim::analysis
