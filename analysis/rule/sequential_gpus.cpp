// GPUs work one after another: while one computes the others have nothing to do.
//
//   now         GPU 0 ██████······      in a pipeline     GPU 0 ██ ██ ██ ·
//               GPU 1 ······██████                        GPU 1 ·· ██ ██ ██
#include <algorithm>
#include <cstdio>
#include <vector>

#include "../text/units.h"
#include "timed_gpus.h"

namespace gpushim::analysis::rule_sequential_gpus {

namespace {

// A pipeline of k stages and m micro-batches is (m + k - 1) / m times as long as its longest stage.
double in_pipeline(double longest_ns, double stages, double micro_batches) {
    return longest_ns * (micro_batches + stages - 1) / micro_batches;
}

std::optional<Finding> look(const Situation& run) {
    const auto index = sequential_index(run);
    const std::vector<TimedGpu> all = timed_gpus(run);
    if (!index || *index < kSequential || all.size() < 2) return {};
    double sum_ns = 0, longest_ns = 0;
    for (const TimedGpu& gpu : all) {
        sum_ns += gpu.busy_ns;
        longest_ns = std::max(longest_ns, gpu.busy_ns);
    }
    const double union_ns = longest_ns + *index * (sum_ns - longest_ns);
    const auto gpus = static_cast<double>(all.size());
    const double low_ns = std::max(0.0, union_ns - in_pipeline(longest_ns, gpus, gpus));
    const double high_ns = union_ns - longest_ns;
    char percent[32];
    std::snprintf(percent, sizeof percent, "%.0f %%", *index * 100);
    Finding found;
    found.title = count_text(static_cast<int64_t>(all.size())) + " GPUs work one after another: " + percent +
                  " of what could overlap does not; together they are busy for " + duration_text(union_ns) +
                  " of a " + run.per() + ", the busiest alone " + duration_text(longest_ns);
    found.try_it = run.advice({"sequential_gpus"});
    found.gain = run.what_if().shorter([&](const GpuInStep& gpu) {
        const double idle = idle_ns(gpu);  // no more goes than it has
        const double share = static_cast<double>(gpu.window_ns) / run.step_ns();
        return Gain{std::min(low_ns * share, idle), std::min(high_ns * share, idle)};
    });
    found.confidence = 0.8;
    found.evidence = run.rows("across",
                              "SELECT rowid FROM across WHERE sequential_index IS NOT NULL"
                              " ORDER BY sequential_index DESC, step LIMIT 3");
    return found;
}

constexpr Heading kHeading = {"one GPU at a time", "GPUs that work one after another",
                              "a GPU waits for another one's turn", "all GPUs at the same time"};
const RuleRegistration kRegistration({"sequential_gpus", Scope::kManyGpus, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_sequential_gpus
