// How busy each device was: the share of time in which at least one operation ran on it. From windows with
// device times it is an estimate with a range; of time without them the host's view gives bounds. One pass
// over a trace.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../trace/timeline.h"
#include "timed_span.h"

namespace gpushim::analysis {

constexpr double kMarkedCoverage = 0.99;  // of the operations: below it a figure is marked

struct Figure {  // a share; low and high hold always, the figure may be missing
    std::optional<double> share;
    double low = 0, high = 1;
};

struct DeviceBusy {
    int64_t device_id;
    Interval run;                   // of the trace: from its start to the last thing in it
    int64_t may_be_busy_ns;         // of it, at most
    std::vector<SpanBusy> windows;  // longer ones in pieces
    bool windows_gone = false;      // there were others, whose rows are gone

    const char* told_by = "events";  // of device times, where there are any: events or cupti

    std::string level() const;               // of the figure: told_by, or host
    std::optional<double> coverage() const;  // operations with device times, of those in windows
    // Of the time in windows that count: at most so much was only of operations without device times.
    double open_share() const;
    double inferred_share() const;  // … in so much of it they are inferred to have run
    double timed_share() const;
    std::optional<int64_t> timed_until_ns() const;  // the end of the last window that counts
    bool sampled() const;
    int64_t windows_that_count() const;  // however many pieces they are in; not those of too little coverage
    // The program's own, in 95 of 100 cases; what it is estimated from: windows that are not refused. Where
    // nothing is measured it is what is certain.
    Figure without_us() const;
    Figure certain() const;    // of both
    Figure as_it_ran() const;  // with our events in it: hard bounds, and in windows a measured figure
    double rest_high() const;  // the time outside of windows was at most so busy
    std::string why() const;   // there is no share; empty: there is one
};

Range certain_range(const SpanBusy& busy);  // as it ran, and without our events

// Who is told of all calls on the way, also of those of the host alone, and of each piece of the time in
// which operations have device times.
class CallWatch {
  public:
    virtual ~CallWatch() = default;
    virtual void see(Call& call) = 0;  // in order of enter; what it adds to the call, others are given
    // Gives back the calls' vector, whatever is in it: its memory is the next piece's.
    virtual std::vector<Call> piece(TimedSpan::Contents contents) = 0;
    virtual const std::vector<int64_t>& cuts() const = 0;  // where pieces may begin, by time; empty: anywhere
    virtual bool reads_ahead() const { return false; }     // calls are read by a thread of their own
};

std::vector<DeviceBusy> busy_of(const Trace& trace, CallWatch* watch = nullptr);

}  // namespace gpushim::analysis
