// One span with device times, from its calls to its shares: of one device, as it ran and as it would have run
// without our events.
//
//   window (host)      |────────────────────────|
//   launches       L L | L  L  L  L    L  L  L  | L L
//   stream         ████████▒▒▒▒▒▒▒▒▒▒▒  ▒▒▒▒▒▒▒▒▒▒███      █ launched outside: no device times
//   span (device)          |─────────────────────|         everything that ran in it has them
//   looked ahead                                 |   N     what a device got next, if that has them
//
// Work without device times that began before the window and probably ran on into it moves the span's start
// to where it was over, unless that leaves less than half; then, if nothing has device times, it is empty.
// Where a stream was behind, its last operation with device times is where the span ends, unless the next
// span begins where the window ends: no moment is in two of them. One thread.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "../interval/interval.h"
#include "../trace/timeline.h"
#include "bounds.h"
#include "sampled.h"
#include "undisturbed.h"

namespace gpushim::analysis {

using MayBeBusy = Bounds::MayBeBusy;

// Operations without device times lie between those that have them, so what counts is the time they leave
// open: kernels that are launched programmatically are many, and take next to none.
constexpr double kRefusedCoverage = 0.90;  // of the operations: with fewer, a figure is refused …
constexpr double kNarrow = 0.15;           // … unless the others can have made no more of the time busy
bool is_refused(double coverage, double open_share);

struct SpanBusy {
    Window window;
    Interval span;                       // on the device; empty: nothing is known of all its streams at once
    int64_t busy_ns, low_ns, high_ns;    // as it ran; hard bounds
    PartOf estimate, at_least, at_most;  // without our events, likely: busy ns of so many
    PartOf lowest, highest;              // without our events, by all bounds
    bool undisturbed;                    // false: what our events take is not known, so they are still in it
    int64_t operations;                  // launched in it
    int64_t queued, unqueued;            // of them, with device times
    int64_t inferred_ns;                 // of busy_ns: when chains ran (chains.h)
    int64_t open_ns;                     // at most so long only those that have none were running; as it ran

    std::optional<double> coverage() const {  // none: nothing was launched
        if (operations == 0) return {};
        return static_cast<double>(queued + unqueued) / static_cast<double>(operations);
    }
    double open_share() const;
};
bool is_refused(const SpanBusy& busy);

class TimedSpan {
  public:
    // Of [from, until) on the host, which lies in windows of one or more devices. `goes_on`: into another
    // span, without a break. `before`: operations that may still run, and calls that had not returned;
    // `said`: what reaches into the span of what Bounds has said of what has no device times.
    TimedSpan(Interval host, bool goes_on, std::vector<Window> windows, std::span<const Lane> lanes,
              const Bounds& bounds, std::span<const Call> before, std::span<const MayBeBusy> said);
    void use(std::vector<Call> memory);  // for its calls: that of a span that is over

    void take(const Call& call);              // in order, from the first that enters the span
    void may_be_busy(const MayBeBusy& said);  // what Bounds says meanwhile of what has no device times
    // Goes on behind the span until each device has started something else, or for so many calls: for
    // contents.
    void look_ahead(size_t calls) { most_behind_ = calls; }
    bool wants(const Call& call) const {
        return call.enter_ns < wanted_until_ns_ ||
               (behind_.size() < most_behind_ && !without_next(call.enter_ns).empty());
    }
    // Devices of which it is not known what they started next, if all calls entered before then were given.
    std::vector<int64_t> without_next(int64_t entered_ns) const;
    void put_behind(const Call& call) { behind_.push_back(call); }  // found in some other way

    // What came of it, a row per device. `cost` by device; own_host_ns of the windows counts where it is
    // known.
    std::vector<SpanBusy> finish(const std::map<int64_t, OwnCost>& cost);

    // After that, what it was asked of: the calls, those that were entered before it first, and what is
    // known of each device.
    // When operations without device times may have run; and those that were launched in the span.
    struct Untimed {
        Intervals all, late;
    };
    struct Contents {
        Interval host;
        std::vector<Call> calls;
        size_t before, behind;  // so many of them at the begin, and at the end, are not of the span
        std::vector<DeviceSpan> known;
        std::vector<Untimed> untimed;  // by device, as `known`
        std::vector<double> coverage;  // by device, as `known`; 1: nothing was launched
        std::vector<bool> refused;     // by device, as `known`
        std::optional<OwnCost> cost;   // of our events in it; none: there are none, or it is not known
    };
    Contents contents(const std::map<int64_t, OwnCost>& cost) &&;

  private:
    struct LaneState {
        bool behind = false;             // work without device times when the span began
        int64_t end_low_ns = INT64_MIN;  // of its last operation with device times
    };
    struct DeviceState {
        int64_t known_from_ns = INT64_MIN;  // work from before the span is over
        int64_t limit_ns = INT64_MAX;       // work without device times may run from here on
        int64_t next_ns = INT64_MAX;        // the first start behind the span
        bool untimed_next = false;          // something without device times was launched behind it
        GrowingUnion may_be_busy;           // by what is none of the calls, or has no device times
        GrowingUnion early, late;           // of it, by the latter: launched before the span, or in it
        int64_t early_operations = 0;       // so many, or Bounds::kAnyNumber
        Untimed untimed;                    // when the span was over
    };
    void note(const Call& call);
    void close();
    void take_behind(const Call& call);
    Interval known_span(int64_t device_id) const;
    bool has_device_times(int64_t device_id) const;  // an operation that ended in it or later
    SpanBusy busy_of(const Window& window, Interval span, const OwnCost* cost);
    // How long operations without device times may have run; of that, when nothing else did.
    struct MayHaveRun {
        int64_t ns, alone_ns;
    };
    int64_t likely_early_ns(const Window& window, MayHaveRun may, int64_t operations) const;
    OwnCost scaled(const OwnCost& cost, const Window& window) const;

    Interval host_;
    bool goes_on_;
    std::vector<Window> windows_;
    std::span<const Lane> lanes_;
    const Bounds& bounds_;
    std::vector<LaneState> states_;
    std::map<int64_t, DeviceState> devices_;
    std::vector<Call> calls_;
    size_t before_;
    std::vector<Call> behind_;
    size_t most_behind_ = 0;
    bool has_events_ = false;       // one of the calls has events of ours
    bool has_untimed_ = false;      // … is an operation without device times
    std::vector<double> coverage_;  // by window; see Contents
    std::vector<bool> refused_;
    int64_t wanted_until_ns_;
    bool closed_ = false;
};

}  // namespace gpushim::analysis
