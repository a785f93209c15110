// What rules say of the run, for the options given: asked once for a report, by the section that needs it
// first. Names in it are hashes where that was asked for. One thread.
#pragma once

#include <string>
#include <vector>

#include "../advice/advise.h"
#include "source.h"

namespace gpushim::analysis {

struct RunAdvice {
    bool is_known = false;
    std::string why_unknown = {};  // "nothing was timed"
    bool is_per_step = false;
    double step_ns = 0;  // what gains are of: a mean step, or a second
    std::string per;     // "step", "second"
    std::vector<Advice> advice;

    // The first that is worth doing; null: none is.
    const Advice* first() const;
    double share_of_step(double ns) const { return step_ns > 0 ? ns / step_ns : 0; }
};

const RunAdvice& advice_of(const ReportSource& source);

}  // namespace gpushim::analysis
