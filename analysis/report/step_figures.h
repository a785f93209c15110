// How long a step takes, of those that were asked for: what the verdict and the section of steps both say.
// One thread.
#pragma once

#include <optional>
#include <string>

#include "source.h"

namespace gpushim::analysis {

struct ShownSteps {
    int64_t count = 0;
    std::optional<int64_t> first, last, left_out, median_ns, p95_ns, mean_ns;
    std::optional<int64_t> no_update_count, no_update_ns;  // stretches between them that train nothing
    std::optional<int64_t> warm_up_count, warm_up_ns;      // of the rank that spent most on them
    // Medians of those that count, where there are enough of them: whether they become longer. None: too few,
    // or the host is ahead.
    std::optional<int64_t> first_quarter_ns, last_quarter_ns;
    bool is_trend = false;                  // the two differ by more than chance
    std::optional<int64_t> undisturbed_ns;  // the median of timed ones, without our events
    bool host_ahead = false;  // of some rank: most steps are shorter than what they launch (v_host_ahead)
    // … where it is more than the mean: what a step launches takes a GPU, which worked on behind the last
    // one.
    std::optional<int64_t> ahead_work_ns;
    std::optional<double> samples, confidence;  // samples of a step, all ranks
    std::string source = "none", anchor, why;
    // From the first step's begin to the last one's end, and what is before it; of the rank of which that is
    // most.
    std::optional<int64_t> span_ns, before_ns;
    std::optional<double> run_share;  // of the time of all calls
    // Without steps, of another tool's trace: figures are of so long, from the GPU's first work on, where
    // that is clearly less than the run.
    std::optional<int64_t> used_ns;
    std::string span_text() const;  // "the whole run", or "the 173 ms in which the GPU was used"

    // The mean is far from the median, as in a loop that waits for every tenth batch.
    bool is_uneven() const;
    // What there is in a second is of the mean.
    std::optional<double> steps_per_s() const, samples_per_s() const;
    // "50 steps/s   3,200 samples/s"
    std::string rates_text(const char* of_steps, const char* between) const;
};

const ShownSteps& step_figures(const ReportSource& source);  // kept with it

std::string rate_text_of(double per_s);  // "243", "1,105"

}  // namespace gpushim::analysis
