// How long steps are, of each rank and of the run: what v_step_length says, by a selection instead of two
// windows over all steps, which take ten times as long; and what v_step_sum says. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "written_steps.h"

struct sqlite3;

namespace gpushim::analysis {

class NewDatabase;

struct StepLength {
    int64_t median_ns, p95_ns;
    int64_t steps, sum_ns;
};

// The shortest that at least so many of 100 do not exceed; of some, whose order is not kept.
int64_t length_at(std::vector<int64_t>& lengths_ns, size_t percent);

class StepLengths {
  public:
    // `written`: all ranks' steps; where there are none, they are read.
    StepLengths(sqlite3* run, std::span<const WrittenRank> written);
    // Tables that stand before the views of a run that is written, until they are taken away.
    void stand_before_views(const NewDatabase& run) const;
    static void leave_to_views(const NewDatabase& run);

  private:
    std::map<int64_t, StepLength> of_rank_;
    std::optional<StepLength> of_run_;
};

}  // namespace gpushim::analysis
