// The steps that count, read once for all sections of a report: asked of the views by each of them they took
// most of its time. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../run/sql/counted_steps.h"
#include "source.h"

namespace gpushim::analysis {

// Of the whole run, whatever part of it was asked for; kept with the source. From then on its sums stand
// before the views v_gpu_total, v_gpu_idle and v_run_steps for all who ask them of this source.
std::shared_ptr<const CountedSteps> counted_steps(const ReportSource& source);

// The steps that were asked for; kept with the source.
std::shared_ptr<const CountedSteps> counted_steps_asked_for(const ReportSource& source);

// How long each of them took, of all ranks: by rank_id and step; slices are none.
struct CountedLengths {
    struct Length {
        int64_t rank_id, step, number, dur_ns;
    };
    std::vector<Length> all = {};

    const Length* find(int64_t rank_id, int64_t step) const;  // null: it does not count
};
const CountedLengths& counted_lengths(const ReportSource& source);  // kept with it

}  // namespace gpushim::analysis
