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
#include "gpu_in_step.h"
#include "written_steps.h"

struct sqlite3;

namespace gpushim::analysis {

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
