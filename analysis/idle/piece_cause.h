// Which cause of idle time a piece of a thread's time is, and one of the time for which an operation was
// queued: tables of the rule, in its order (README.md). Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "attribute.h"

namespace gpushim::analysis {

// What time outside of calls that decide is part of, in the order of the rule.
enum class OutsidePart : uint8_t {
    launch_loop,
    between_operators,
    between_launches,
    handed_over,
    before_input,
    loading_untold,
    outside_framework,
    other
};

inline constexpr Cause kOutside[][6] = {
    // in another call; running, ready, blocked; in a Python frame; unknown
    {Cause::launch_bound, Cause::launch_bound, Cause::launch_bound, Cause::launch_bound, Cause::launch_bound,
     Cause::launch_bound},
    {Cause::python, Cause::python, Cause::host_blocked, Cause::host_blocked, Cause::python, Cause::python},
    {Cause::between_launches, Cause::between_launches, Cause::host_blocked, Cause::host_blocked,
     Cause::between_launches, Cause::between_launches},
    {Cause::between_launches, Cause::between_launches, Cause::host_blocked, Cause::host_blocked,
     Cause::between_launches, Cause::between_launches},
    {Cause::input_cpu, Cause::input_cpu, Cause::input_wait, Cause::input_wait, Cause::input_cpu,
     Cause::host_unknown},
    {Cause::input_loading, Cause::input_cpu, Cause::input_wait, Cause::input_wait, Cause::input_loading,
     Cause::input_loading},
    {Cause::callback, Cause::host_cpu, Cause::host_blocked, Cause::host_blocked, Cause::callback,
     Cause::callback},
    {Cause::host_cpu, Cause::host_cpu, Cause::host_blocked, Cause::host_blocked, Cause::host_cpu,
     Cause::host_unknown},
};

constexpr Cause cause_of_call(const HostPiece& piece, int32_t gpu) {
    constexpr Cause kCalls[] = {Cause::input_loading, Cause::sync,         Cause::copy_staging,
                                Cause::alloc_or_load, Cause::graph_update, Cause::comm_host,
                                Cause::launch_bound,  Cause::slow_call,    Cause::optimizer,
                                Cause::framework,     Cause::sync};
    const bool is_of_other = piece.gpu != kNoGpu && piece.gpu != gpu;
    if (piece.what == What::sync && is_of_other) return Cause::sync_other_gpu;
    if (piece.what != What::launch) return kCalls[static_cast<size_t>(piece.what)];
    return piece.gpu == gpu ? Cause::launch_bound : Cause::launching_other_gpu;
}

// None: the calls around it say more.
constexpr std::optional<Cause> cause_of_sample(PythonDoes does) {
    constexpr Cause kSampled[] = {Cause::interpreter_lock, Cause::garbage_collection, Cause::input_loading,
                                  Cause::optimizer, Cause::callback};
    if (does == PythonDoes::untold) return {};
    return kSampled[static_cast<size_t>(does)];
}

constexpr bool names_what_blocked(Cause cause) {
    return cause == Cause::host_blocked || cause == Cause::input_wait;
}

// Of the time for which N was submitted; was_ready: it could have started when the gap began.
constexpr Cause cause_in_queue(WaitsFor waits_for, int64_t queued_ns, bool was_ready,
                               const DeviceFacts& device) {
    if (waits_for == WaitsFor::other_gpu) return Cause::wait_other_gpu;
    if (waits_for == WaitsFor::host_callback) return Cause::wait_host_callback;
    if (was_ready && queued_ns <= device.kernel_gap_ns) return Cause::kernel_gap;
    return queued_ns <= device.latency_p95_ns ? Cause::launch_latency : Cause::device_other;
}

}  // namespace gpushim::analysis
