// When an operation ran, from the stamps of our events around it. A stamp is a bound:
//
//   host     |enter──launch──exit|··δ··:                     δ: until it starts, on an empty queue
//   stream   ─before─┤ start ├         :████operation████┤ end ├
//                            ^ready    ^s               ^e     ^stamp
//
// Where `ready` (the start event's stamp, or the end of what was before it) is later than exit + δ, the
// operation waited in its queue and began at that moment. Else `ready` brackets the submission: the interval
// is kept, and s is estimated as exit + δ, or as e less what operations alike have taken. e is the end
// event's stamp less what an event takes, if that event had to wait for the operation. Pure.
#pragma once

#include <cstdint>

#include "clock_model.h"

namespace gpushim::shim {

// One operation, on the host's clock.
struct Stamps {
    int64_t enter_ns;
    int64_t exit_ns;
    int64_t recorded_ns;  // when the end event had been
    bool has_start;       // a start event
    bool has_before;      // an end event of what was just before it in its stream
    bool fenced;          // since then its stream was told to wait
    bool blocking;        // the call may have waited for the operation
    Moments start;
    Moments before;
    Moments end;
};

// What events of ours take on the device.
struct EventFacts {
    int64_t low_ns, ns, high_ns;        // one that waited for what is before it, until its stamp
    int64_t before_ns, before_high_ns;  // from a stamp until what is behind it begins (stamp_gaps.h)
    int64_t idle_ns;  // at most, from the return of recording one on an empty stream to its stamp
};

// An estimate with the range in which 95 of 100 lie. Where it is not known, `high_ns` may still be a bound;
// 0: none.
struct Spread {
    bool is_known;
    int64_t low_ns, ns, high_ns;
};

inline int64_t half_of(const Spread& spread) { return (spread.high_ns - spread.low_ns + 1) / 2; }

struct Usual {
    Spread delay;       // δ: from a call's return to the start on an empty queue
    Spread from_enter;  // … from its begin
    Spread duration;    // of operations alike
};

struct OperationTimes {
    int64_t start_ns, end_ns;
    bool queued;  // the times are stamps; else estimates
    int64_t start_low_ns, start_high_ns, end_low_ns, end_high_ns;
    int64_t likely_ns;  // the estimates are within this in 95 of 100 cases
};

// What can be learnt from a stamped operation about others.
struct Observed {
    bool is_whole;       // its end is a stamp, and it is known when its stream was ready
    int64_t slack_ns;    // from the call's return until the stream was ready
    int64_t span_ns;     // from then on to its end
    int64_t in_call_ns;  // exit - enter
    int64_t gap_ns;      // of the span, if it was queued: from that stamp to its start
};

// Later than this after the call's return, whatever δ may be: it was queued.
constexpr int64_t kSurelyQueuedNs = 50'000;

OperationTimes times_of(const Stamps& stamps, const EventFacts& event, const Usual& usual);
Observed observe(const Stamps& stamps, const EventFacts& event);

}  // namespace gpushim::shim
