// The rows that a run's figures are of (v_gpu_basis), with what ran in each and why the GPU was idle, and
// their sums: read from the run's tables once, each from its begin to its end, for asking the views anew for
// each figure takes as long as all else that is derived. What v_gpu_basis, v_gpu_total and v_gpu_idle say is
// the same.
// Read-only once it is made; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../../idle/cause.h"
#include "written_steps.h"

struct sqlite3;

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

struct StepNumbers {  // as the program counts, both inclusive
    int64_t first, last;
};

class CountedSteps {
  public:
    explicit CountedSteps(sqlite3* run);
    // `written`: all rows about steps; if it has less, they are read. `beside`: is done meanwhile.
    CountedSteps(sqlite3* run, WrittenRun written, const std::function<void()>& beside);
    // Of these alone: of spans, which are no steps, none.
    CountedSteps(sqlite3* run, StepNumbers only);
    CountedSteps(CountedSteps&&) = default;

    const std::vector<GpuInStep>& rows() const { return rows_; }     // by gpu_id, step
    const std::vector<GpuTotal>& totals() const { return totals_; }  // by gpu_id
    // The most steps of a rank, as v_run_steps has them.
    std::optional<double> whole_steps() const { return whole_steps_; }
    std::optional<int64_t> recorded_steps() const { return recorded_steps_; }
    const GpuInStep* find(int64_t gpu_id, int64_t step) const;
    const GpuTotal* total_of(int64_t gpu_id) const;
    // The rows of `gap` of these causes in which most time went: at most kLargest rowids.
    static constexpr size_t kLargest = 3;
    std::vector<int64_t> largest_gaps(Causes causes) const;

    // Tables that stand before the views v_gpu_total and v_gpu_idle for this connection, until they are taken
    // away: for all who ask the views by name, and not for other views.
    void stand_before_views(sqlite3* run) const;
    static void leave_to_views(sqlite3* run);

  private:
    struct Gap {
        int64_t ns, rowid;
    };
    void leave_only(StepNumbers only);
    void read(sqlite3* run);
    void take(WrittenRun written);
    void read_loads(sqlite3* run);
    void read_run(sqlite3* run);
    void sum_rows();
    class ActivitySums;
    class GapSums;
    bool read_gaps(sqlite3* run, bool in_order);
    void take_gaps(const WrittenGpu& gpu);
    void note(Cause cause, Gap gap);

    std::vector<GpuInStep> rows_;
    std::vector<GpuTotal> totals_;
    std::optional<double> whole_steps_;
    std::optional<int64_t> recorded_steps_;
    std::vector<std::vector<IdlePart>> idle_;  // of all rows
    std::array<std::vector<Gap>, static_cast<size_t>(Cause::count)> largest_;
};

}  // namespace gpushim::analysis
