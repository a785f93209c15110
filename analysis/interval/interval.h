// Algebra on half-open spans of time [start, end) in integer nanoseconds: spans that touch do not overlap.
//
//   a          ████      ████
//   b             ████
//   unite      ███████   ████      intersect     █         subtract a b  ███       ████
//
// An Intervals is what unite returns: by start, apart from each other, none empty. The others take such and
// give such, in linear time. Pure; any thread.
#pragma once

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

// The union of spans that come in any order and are too many to keep: their memory is that of the union.
// Quick where they come nearly by start.
class GrowingUnion {
  public:
    void add(Interval span);
    Intervals take();  // and begins anew

  private:
    size_t place_of(Interval span, size_t first) const;
    void add_late(Interval span);
    void shrink();
    Intervals spans_;             // united
    size_t last_put_ = 0;         // of those that came late by a few, the last one
    std::vector<Interval> late_;  // those that started long before the last ones
};

}  // namespace gpushim::analysis
