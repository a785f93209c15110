// When a device may have been busy, from what the host saw: hard bounds, with or without device times.
//
//   call      |launch|      |launch|         |synchronise──────|
//   may be    ├──────────────────────────────────────────────────┤   an operation starts after its call is
//   was       (──███──────────███──────────────────────────────)    entered and is over when a wait for it
//   returns
//
// An operation ends, at the latest, when one of these is known to be over: a wait of the host for its stream,
// its context or an event recorded behind it; a copy to the host behind it that only returns when it is done;
// a later operation of its stream that has device times; an operation of another stream that waited for it,
// by an event or by the rules of the legacy stream. Order within a stream is certain only between calls that
// did not overlap. What is not known to be over may be busy for ever. From below nothing is certain without
// device times: a host that waits may wait for a launch that has not begun. One thread.
//
// Where rows are gone, a stream may be busy until something that is entered after them tells that it is over:
//
//   rows gone   ┊- - - - - - -┊
//   call        ┊    ?        ┊    |synchronise──────|
//   may be      ├────────────────────────────────────┤
//
// It may also have been given nothing, so its end tells nothing of other streams. Nor does an event that was
// recorded before the rows' end: it may have been recorded anew.
#pragma once

#include <deque>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "../interval/interval.h"
#include "../trace/timeline.h"

namespace gpushim::analysis {

class Bounds {
  public:
    // Of one operation with device times; or of some without, which probably ran until the end of that, or of
    // which nothing more is known.
    enum class Say : uint8_t { timed, until_the_end, some_time };
    struct MayBeBusy {
        int64_t device_id;
        Interval span;
        Say say;
        int64_t operations;  // so many, or kAnyNumber
        int64_t entered_ns;  // when the last of them was launched
        size_t stream = 0;   // its lane
    };
    static constexpr int64_t kAnyNumber = INT64_MAX;
    using Sink = std::function<void(const MayBeBusy&)>;
    Bounds(std::span<const Lane> lanes, Sink may_be_busy)
        : lanes_(lanes), queues_(lanes.size()), sink_(may_be_busy) {}

    void take(const Call& call);  // in order of enter

    // Whether work without device times is in that stream that is not known to be over.
    bool is_open(int32_t lane) const;
    // What that may make of the time until then; the sink has not been told.
    Intervals open(int64_t device_id, int64_t until_ns) const;
    // The same apart: what was launched before `early_ns`, and later.
    struct Open {
        Intervals early, late;
        int64_t early_operations = 0;
    };
    Open open(int64_t device_id, int64_t until_ns, int64_t early_ns) const;

  private:
    // An operation, or a wait of the stream for another one, whose end is not known.
    struct Entry {
        int64_t from_ns, enter_ns, exit_ns;
        int32_t waits_for;  // a lane: what was in it before `before_ns`; kNoLane: an operation
        int64_t before_ns;
        bool gone = false;  // any number of operations, or none
    };
    struct Record {
        int32_t lane;
        int64_t enter_ns, exit_ns;
    };
    void operation(const Call& call);
    void gone(const Call& call);
    void sync(const Call& call);
    struct Over {
        int64_t at_ns;
        Say say;
    };
    // What entered that lane in calls that returned before `before_ns` is over by then. Nearly always there
    // is none, so that is asked first, at once.
    void over(int32_t lane, int64_t before_ns, Over by) {
        const std::deque<Entry>& entries = queues_[static_cast<size_t>(lane)].entries;
        if (!entries.empty() && entries.front().enter_ns < before_ns) end_entries(lane, before_ns, by);
    }
    void end_entries(int32_t lane, int64_t before_ns, Over by);
    void over_by_legacy_rules(int32_t lane, int64_t before_ns, Over by) {
        const Lane& own = lanes_[static_cast<size_t>(lane)];
        if (own.legacy || own.joins_legacy) end_entries_of_others(own, before_ns, by);
    }
    void end_entries_of_others(const Lane& own, int64_t before_ns, Over by);
    static Over over_by_host(const Call& call);
    const Record* record_of(const Call& call) const;

    struct Queue {
        std::deque<Entry> entries;
        int64_t timed_exit_ns = INT64_MIN;     // of the call of its last operation with device times …
        int64_t timed_end_low_ns = INT64_MIN;  // … which ends here at the earliest
    };
    // What stands in a stream behind an operation with device times begins when that is over.
    static int64_t earliest_start_ns(const Queue& queue, const Call& call);

    std::span<const Lane> lanes_;
    std::vector<Queue> queues_;
    int64_t gone_until_ns_ = INT64_MIN;
    std::unordered_map<int64_t, Record> records_;  // by handle of the event
    Sink sink_;
};

}  // namespace gpushim::analysis
