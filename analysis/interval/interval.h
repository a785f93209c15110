// Algebra on half-open spans of time [start, end) in integer nanoseconds: spans that touch do not overlap.
//
//   a          ████      ████
//   b             ████
//   unite      ███████   ████      intersect     █         subtract a b  ███       ████
//
// An Intervals is what unite returns: by start, apart from each other, none empty. The others take such and
// give such, in linear time. Pure; any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpushim::analysis {

struct Interval {
    int64_t start_ns;
    int64_t end_ns;

    int64_t length_ns() const { return end_ns > start_ns ? end_ns - start_ns : 0; }
    friend bool operator==(const Interval&, const Interval&) = default;
};
using Intervals = std::vector<Interval>;

Intervals unite(std::vector<Interval> any);  // in any order; what ends at or before its start is left out
Intervals unite(const Intervals& a, const Intervals& b);
Intervals intersect(const Intervals& a, const Intervals& b);
Intervals subtract(const Intervals& from, const Intervals& what);
Intervals clip(const Intervals& intervals, Interval within);
Intervals gaps(const Intervals& intervals, Interval within);  // the rest of `within`
int64_t length_ns(const Intervals& intervals);

// The union of spans that come in any order and are too many to keep: their memory is that of each stream's
// union. Quick where each stream's come by start; a caller that knows no streams gives all to one.
class GrowingUnion {
  public:
    void add(Interval span, size_t stream = 0) {
        if (span.end_ns <= span.start_ns) return;
        if (stream < streams_.size() && !streams_[stream].empty()) {
            Intervals& spans = streams_[stream];
            if (span.start_ns > spans.back().end_ns) return spans.push_back(span);
            if (span.start_ns >= spans.back().start_ns) {
                spans.back().end_ns = std::max(spans.back().end_ns, span.end_ns);
                return;
            }
        }
        add_first_or_late(span, stream);
    }
    Intervals take();  // and begins with none

  private:
    void add_first_or_late(Interval span, size_t stream);
    std::vector<Intervals> streams_;  // each united
    Intervals late_;                  // those that started before the last of their stream …
    Intervals shrunk_;                // … the older ones united
};

}  // namespace gpushim::analysis
