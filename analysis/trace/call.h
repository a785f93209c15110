// One call of a traced process and, where it gave a device work, when that ran; and the streams, windows and
// clocks that calls are told by. Plain values: whoever reads traces makes them, whatever the traces' format.
#pragma once

#include <cstdint>
#include <optional>

namespace gpushim::analysis {

enum class CallKind : uint8_t {
    operation,  // a kernel, copy, memset or graph was launched
    sync,       // the host waited for a stream, event or context
    record,     // an event was recorded
    wait,       // a stream was told to wait for an event
    host_call,  // a stream was given a function of the host
    gone,       // no call: rows of a span are gone (timeline.h)
    // Those from here on say what the host did; only who asks for them is given them.
    memory,  // allocated, freed or registered
    load,    // a module, library or function was loaded
    begin_capture,
    end_capture,
    make_graph,  // a graph was instantiated, updated, uploaded or destroyed
    collective,  // a call of NCCL; the kernels it launched carry the same `group_id`
    other,
    host_gap,  // no call: the thread between two of them
    inside     // no call: what the thread was inside of
};
constexpr bool is_call(CallKind kind) {
    return kind != CallKind::gone && kind != CallKind::host_gap && kind != CallKind::inside;
}
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
constexpr int64_t kNotRecorded = -1;
constexpr int32_t kNoStep = -1;

struct Call {
    CallKind kind;
    OperationClass type;  // of an operation
    bool timed;           // `times` are there
    bool completes;       // it returned when the operation was over
    bool blocking;        // of a copy or memset: a form of the call that may block the host
    int32_t lane;         // index of its stream; kNoLane: none, or not known
    int64_t enter_ns;
    int64_t exit_ns;
    int64_t thread_id;
    // handle.id of the event recorded or waited for, or of the context; of a collective its communicator's
    // row; kNoTarget
    int64_t target_id;
    DeviceTimes times;
    int32_t step = kNoStep;           // index into the run's steps, by when it was entered
    int64_t api_id = kNotRecorded;    // row of `api`; of a kernel: see its shape
    int64_t bytes = kNotRecorded;     // of a copy, memset, collective; of memory: freed ones are negative
    int64_t group_id = kNotRecorded;  // the NCCL call that it is, or is part of
    // kernel: row of `shape`; graph: row of `graph`; copy: `sides`; sync: how many calls the row stands for;
    // collective: its number on its communicator; host_gap: ns on a CPU, or kNotRecorded;
    // inside: HostInside; of a sample `target_id` is its frame
    int64_t detail = kNotRecorded;
    int64_t runqueue_ns = 0;  // of a host_gap: ready, without a CPU
    // Of a host_gap: index into what samples said (HostClasses); of a sample: python_sample.doing; inside of
    // loading: LoadingStage; -1: not told
    int32_t blocked_on = -1;
    // `times` are of so many operations of its stream, of which it is the first (busy/chains.h); 0: its own.
    int32_t chain = 0;
    // Of a collective's kernel: so much of its time, from its start on, it waited for other ranks.
    int64_t wait_ns = kNotRecorded;
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

}  // namespace gpushim::analysis
