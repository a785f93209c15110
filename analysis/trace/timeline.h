// What one process asked of its devices, in the order in which the calls were entered, and when it ran: the
// rows of a trace as integers, one after the other. Calls that failed, were captured into a graph or never
// returned are left out. A trace of schema 1 has host times only. One thread.
//
// Of a span whose rows are gone there is a call of kind `gone`, from its start to its end, and one for each
// stream that was given operations in it, as the totals say: of these nothing is known but that they may have
// been asked for at any time from enter to exit. Windows that lie in such a span, if only in part, are left
// out: their operations are gone, and the row of one may be the sum of several.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "../interval/interval.h"
#include "inputs.h"

namespace gpushim::analysis {

enum class CallKind : uint8_t { operation, sync, record, wait, gone };
enum class OperationClass : uint8_t { compute, comm, h2d, d2h, d2d, p2p, copy, memset, graph };

// Absolute, on the host's clock. The truth lies in [low, high]; the estimates are within `likely_ns` of it in
// 95 of 100 cases.
struct DeviceTimes {
    int64_t start_ns, start_low_ns, start_high_ns;
    int64_t end_ns, end_low_ns, end_high_ns;
    int64_t likely_ns;
    int32_t events;  // of ours: 2 around it, 1 behind it
    bool queued;     // the times are stamps
};

constexpr int32_t kNoLane = -1;
constexpr int64_t kNoTarget = -1;

struct Call {
    CallKind kind;
    OperationClass type;  // of an operation
    bool timed;           // `times` are there
    bool completes;       // it returned when the operation was over
    int32_t lane;         // index of its stream; kNoLane: none, or not known
    int64_t enter_ns;
    int64_t exit_ns;
    int64_t thread_id;
    int64_t target_id;  // handle.id of the event recorded or waited for, or of the context; kNoTarget
    DeviceTimes times;
};

struct Lane {  // a stream
    int64_t stream_id;
    int64_t device_id;
    int64_t context_id;
    int64_t context_handle_id;
    bool legacy;
    bool joins_legacy;  // they wait for each other
};

struct Window {
    int64_t enter_ns, dur_ns, planned_ns;
    int64_t device_id;
    std::optional<int64_t> slot;
    int64_t operations, timed;
    int64_t legacy_events;
    int64_t own_host_ns;

    int64_t end_ns() const { return enter_ns + dur_ns; }
};

struct DeviceClock {
    int64_t mono_ns;
    int64_t device_id;
    int64_t error_ns;
    std::optional<int64_t> event_ns, record_ns, latency_ns, latency_spread_ns;
};

class Timeline {
  public:
    explicit Timeline(const Trace& trace);

    bool next(Call& call);

    const std::vector<Lane>& lanes() const { return lanes_; }
    const Intervals& gone() const { return gone_; }                  // spans whose rows are
    const std::vector<Window>& windows() const { return windows_; }  // by enter
    bool windows_left_out() const { return windows_left_out_; }
    const std::vector<DeviceClock>& clocks() const { return clocks_; }  // by time

  private:
    struct Error {
        int64_t start_low_ns, start_high_ns, end_low_ns, end_high_ns, likely_ns;
        int32_t events;
        bool queued;
    };
    struct Gone {
        Interval span;
        int32_t lane;
    };
    void read_lanes(const Database& base);
    void read_errors(const Database& base);
    void read_windows(const Database& base);
    void read_clocks(const Database& base);
    void read_gone(const Database& base);
    bool next_gone(Call& call);
    void read_call(Call& call) const;
    void read_times(Call& call) const;

    std::vector<Lane> lanes_;
    Intervals gone_;
    std::vector<Gone> gone_calls_;  // by start
    size_t next_gone_ = 0;
    std::vector<Window> windows_;
    bool windows_left_out_ = false;
    std::vector<DeviceClock> clocks_;
    std::unordered_map<int64_t, int32_t> lane_of_stream_;
    std::unordered_map<int64_t, Error> errors_;
    std::optional<Query> calls_;
    bool has_call_ = false;  // calls_ stands at the next one
};

bool has_device_times(const Trace& trace);  // it is of a schema that has them

}  // namespace gpushim::analysis
