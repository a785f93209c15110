// How long the union is of spans that come nearly by start, but for those that begin with something that is
// not over yet: what lies before all of these is only summed, so that the memory of a long run is that of its
// last second.
//
//   spans    ██ ███  ██ ██   ████ ██
//   open                  |- - - - - -      may still be told as one, from there on
//   summed   |───────────|
//
// One thread.
#pragma once

#include <algorithm>
#include <utility>

#include "../interval/interval.h"

namespace gpushim::analysis {

class LongUnion {
  public:
    void add(Interval span, size_t stream = 0) {
        spans_.add(span, stream);
        ++added_;
    }
    bool is_long() const { return added_ >= most_; }
    // Nothing that is added from now on begins before `open` does, if there is any, nor kApartNs before now.
    void settle(const Intervals& open, int64_t now_ns, Interval run) {
        int64_t before_ns = now_ns - kApartNs;
        if (!open.empty()) before_ns = std::min(before_ns, open.front().start_ns);
        const Intervals all = spans_.take();
        const auto rest = std::find_if(all.begin(), all.end(),
                                       [&](const Interval& span) { return span.end_ns >= before_ns; });
        for (auto span = all.begin(); span != rest; ++span)
            settled_ns_ += Interval{std::max(span->start_ns, run.start_ns), span->end_ns}.length_ns();
        for (auto span = rest; span != all.end(); ++span) spans_.add(*span);
        added_ = static_cast<size_t>(all.end() - rest);
        most_ = 2 * added_ + kOften;
    }
    // With what is open at the end, within the run; and begins anew.
    int64_t take_ns(const Intervals& open, Interval run) {
        return std::exchange(settled_ns_, 0) + length_ns(clip(unite(spans_.take(), open), run));
    }

  private:
    static constexpr size_t kOften = 65'536;            // spans
    static constexpr int64_t kApartNs = 1'000'000'000;  // more than clocks are
    GrowingUnion spans_;
    size_t added_ = 0, most_ = kOften;
    int64_t settled_ns_ = 0;
};

}  // namespace gpushim::analysis
