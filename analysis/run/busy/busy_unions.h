// How long a GPU was busy in each segment: certainly, possibly, and likely at least and at most.
//
//   operation      ▒▓██████▓▒                         █ certainly, ▓ likely at most, ▒ possibly
//   without times                ▒▒▒▒▒▒  ▓▓▓▓▓▓▓      the latter was launched in the piece
//
// As long as all times are exact, as other tools' are, the four are one and are summed once. One thread.
#pragma once

#include <span>
#include <vector>

#include "../../busy/timed_span.h"
#include "../pass/device_order.h"
#include "../pass/step_cuts.h"

namespace gpushim::analysis {

class BusyUnions {
  public:
    void begin(std::span<const Segment> segments, TimedSpan::Untimed untimed);
    void add(const DeviceOp& op) {  // nearly in order of start
        if (!are_one_ || !is_exact(op)) return add_to_each(op);
        certain_.add(op.start_ns, op.end_ns);
    }

    struct Sums {  // ns, by segment
        const std::vector<int64_t>&low, &high, &likely_low, &likely_high;
    };
    Sums finish();  // nothing is added after it

  private:
    // What has no device times, and how far it was added to a sum.
    struct Untimed {
        Intervals spans;
        size_t next = 0;
        // Those that begin until then: unions are quick where spans come in order.
        void add_to(UnionBySegment& sum, int64_t until_ns) {
            if (next != spans.size() && spans[next].start_ns <= until_ns) add_some_to(sum, until_ns);
        }
        void add_some_to(UnionBySegment& sum, int64_t until_ns);
    };
    static bool is_exact(const DeviceOp& op) {
        return (op.start_before_ns | op.start_after_ns | op.end_before_ns | op.end_after_ns) == 0;
    }
    void part();
    void add_to_each(const DeviceOp& op);

    bool are_one_ = true;                                     // then certain_ is all four
    UnionBySegment certain_, possible_, at_least_, at_most_;  // the latter two: likely
    Untimed untimed_, untimed_late_;
};

}  // namespace gpushim::analysis
