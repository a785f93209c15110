#include "interval.h"

#include <algorithm>
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
    if (a.empty() || b.empty()) return a.empty() ? b : a;
    Intervals both;
    both.reserve(a.size() + b.size());
    auto of_a = a.begin(), of_b = b.begin();
    Interval open = is_before(*of_b, *of_a) ? *of_b++ : *of_a++;
    const auto join = [&](const Interval& next) {
        if (next.start_ns <= open.end_ns) {
            open.end_ns = std::max(open.end_ns, next.end_ns);
        } else {
            both.push_back(open);
            open = next;
        }
    };
    while (of_a != a.end() && of_b != b.end()) join(is_before(*of_b, *of_a) ? *of_b++ : *of_a++);
    for (; of_a != a.end(); ++of_a) join(*of_a);
    for (; of_b != b.end(); ++of_b) join(*of_b);
    both.push_back(open);
    return both;
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
    if (within.end_ns <= within.start_ns) return {};
    const auto first = std::partition_point(intervals.begin(), intervals.end(), [&](const Interval& span) {
        return span.end_ns <= within.start_ns;
    });
    const auto last = std::partition_point(
        first, intervals.end(), [&](const Interval& span) { return span.start_ns < within.end_ns; });
    Intervals inside(first, last);
    if (inside.empty()) return inside;
    inside.front().start_ns = std::max(inside.front().start_ns, within.start_ns);
    inside.back().end_ns = std::min(inside.back().end_ns, within.end_ns);
    return inside;
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

void GrowingUnion::add_first_or_late(Interval span, size_t stream) {
    if (stream >= streams_.size()) streams_.resize(stream + 1);
    if (streams_[stream].empty()) return streams_[stream].push_back(span);
    late_.push_back(span);
    if (late_.size() >= shrunk_.size() + 4096) shrunk_ = unite(shrunk_, unite(std::exchange(late_, {})));
}

Intervals GrowingUnion::take() {
    std::vector<Intervals> parts = std::exchange(streams_, {});
    parts.push_back(std::exchange(shrunk_, {}));
    parts.push_back(unite(std::exchange(late_, {})));
    for (size_t apart = 1; apart < parts.size(); apart *= 2)
        for (size_t i = 0; i + apart < parts.size(); i += 2 * apart)
            if (!parts[i + apart].empty())
                parts[i] = parts[i].empty() ? std::move(parts[i + apart]) : unite(parts[i], parts[i + apart]);
    return std::move(parts.front());
}

}  // namespace gpushim::analysis
