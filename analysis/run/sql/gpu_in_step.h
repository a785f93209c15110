// What is known of one GPU in one step that counts, and of a GPU over all of them. Plain values.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "../../idle/cause.h"
#include "written_steps.h"

namespace gpushim::analysis {

// What ran, in ns, by the classes of `activity`.
enum class WhatRan : uint8_t {
    window,
    busy,
    idle,
    waiting_for_peer,  // and no kernel runs
    productive,
    unhidden_transfer,  // of a collective, and no kernel runs
    memory,             // copies and memsets, and no kernel or collective runs
    compute,
    copy,
    comm,
    exposed_comm,
    only_copy,          // and nothing else
    transfer,           // of a collective, without waiting …
    exposed_transfer,   // … while nothing else ran
    compute_beside_no,  // transfer
    count
};

struct GpuInStep {
    int64_t gpu_id, rank_id;
    int64_t number;  // of the step, as the program counts
    int64_t step;    // as in the tables
    int64_t window_ns, busy_ns, busy_low_ns, busy_high_ns, busy_likely_low_ns, busy_likely_high_ns,
        waiting_ns;
    int64_t productive_ns, transfer_ns, exposed_transfer_ns, compute_beside_no_transfer_ns;
    int64_t latency_ns, kernel_gap_ns;
    bool loads_code;
    std::span<const IdlePart> idle;  // by the name of the cause

    double idle_ns(Causes causes) const;
    double drained_ns(Causes causes) const;
    double longest_ns(Causes causes) const;  // of their pieces
    // Of its gaps between launches: the longest, if that takes longer than all others together. Then it is
    // one gap, whatever the host did in it, and not the many short ones that launches need.
    double pause_ns() const;
    // What share of its idle time is sure, by the bounds of when operations ran.
    double sure_share() const;
    double own_ns() const { return static_cast<double>(window_ns - waiting_ns); }
};

struct GpuTotal {
    int64_t gpu_id;
    std::string basis;  // steps, slices, spans
    int64_t steps = 0;
    std::array<int64_t, static_cast<size_t>(WhatRan::count)> ran_ns{};
    // Bounds, of each step no further in than its busy time.
    int64_t busy_low_ns = 0, busy_high_ns = 0, busy_likely_low_ns = 0, busy_likely_high_ns = 0;
    struct Idle {
        int64_t rows = 0, ns = 0, drained_ns = 0;
    };
    std::array<Idle, static_cast<size_t>(Cause::count)> idle{};

    int64_t ns(WhatRan ran) const { return ran_ns[static_cast<size_t>(ran)]; }
    double real(WhatRan ran) const { return static_cast<double>(ns(ran)); }
    int64_t idle_ns(CauseGroup group) const;
};

}  // namespace gpushim::analysis
