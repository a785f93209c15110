// What a span would have been without our events in it. Each takes `record_ns` of the launching thread and
// `event_ns` of its stream; replayed without them, threads come earlier to their calls and streams to their
// ends, and what waits for the other comes earlier by as much as both let it:
//
//   thread    rec[launch]rec rec[launch]rec            [launch][launch]
//   stream         ev███ev      ev███ev         →         ███     ███         s' = max(exit' + latency, e' of
//   the
//                                                                             one before) + what neither
//                                                                             explains
//
// A thread that waited for a stream returns when the stream is there, plus what it took to wake; one that
// launches into a full queue goes on as the stream does. Threads that
// never launch at the same time take turns: what one saves, the next begins earlier. Pure.
#pragma once

#include <span>
#include <vector>

#include "../interval/interval.h"
#include "../trace/timeline.h"

namespace gpushim::analysis {

struct OwnCost {
    int64_t record_ns = 0;
    int64_t asking_ns = 0;  // of the thread, before an operation that gets events: whether it may
    int64_t event_ns = 0;
    int64_t latency_ns = 0;         // from a launch call's return to the start on an empty queue
    int64_t latency_spread_ns = 0;  // between nearly the shortest and nearly the longest
};

// How operations are drawn: as estimated, as short or long as they may well have been, or as can be at all.
enum class Lean { estimate, shorter, longer, shortest, longest };

struct Replayed {
    Intervals busy;  // of the device, in the replay's time
    Interval span;   // what it was asked for became
};

// `calls` in order of enter; the first `before` of them were entered before the span was, and lasted into
// it. Of the operations on `device_id` those with device times count.
Replayed replay(std::span<const Call> calls, size_t before, std::span<const Lane> lanes, const OwnCost& cost,
                Interval span, int64_t device_id, Lean lean);

// The calls themselves as they would have been, by their new enter, and the spans of devices that they fill.
// The last `behind` of them are not of the span and stay the last.
// Calls of the host alone come as much earlier as their thread does.
struct Undisturbed {
    std::vector<Call> calls;
    size_t before, behind;
    std::vector<Interval> spans;  // as given
    // A moment of the host, as it would have been.
    int64_t moved(int64_t host_ns) const;
    // The other way round: when it was as the program ran.
    int64_t was(int64_t would_ns) const;

    struct Shift {
        int64_t was_ns, would_ns;
    };
    std::vector<Shift> shifts;  // at each call's enter, by what it was
};
struct DeviceSpan {
    int64_t device_id;
    Interval span;
};
Undisturbed undisturb(std::vector<Call> calls, size_t before, size_t behind, std::span<const Lane> lanes,
                      const OwnCost& cost, std::span<const DeviceSpan> spans);

}  // namespace gpushim::analysis
