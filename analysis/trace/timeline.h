// What one process asked of its devices, in the order in which the calls were entered, and when it ran: the
// rows of a trace as integers, one after the other. Calls that failed, were captured into a graph or never
// returned are left out. A trace of schema 1 has host times only. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "inputs.h"

namespace gpushim::analysis {

enum class CallKind : uint8_t { operation, sync, record, wait };
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
    const std::vector<Window>& windows() const { return windows_; }     // by enter
    const std::vector<DeviceClock>& clocks() const { return clocks_; }  // by time

  private:
    struct Error {
        int64_t start_low_ns, start_high_ns, end_low_ns, end_high_ns, likely_ns;
        int32_t events;
        bool queued;
    };
    void read_lanes(const Database& base);
    void read_errors(const Database& base);
    void read_windows(const Database& base);
    void read_clocks(const Database& base);
    void read_times(Call& call) const;

    std::vector<Lane> lanes_;
    std::vector<Window> windows_;
    std::vector<DeviceClock> clocks_;
    std::unordered_map<int64_t, int32_t> lane_of_stream_;
    std::unordered_map<int64_t, Error> errors_;
    std::optional<Query> calls_;
};

bool has_device_times(const Trace& trace);  // it is of a schema that has them

}  // namespace gpushim::analysis
