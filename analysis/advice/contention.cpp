#include "contention.h"

#include <algorithm>
#include <map>

namespace gpushim::analysis {

double contended_ns(const Situation& run, std::optional<Causes> causes) {
    std::map<int64_t, int64_t> by_gpu;
    Query row = run.ask("SELECT gpu_id, step, ns, cause FROM cpu_contention");
    while (row.step()) {
        if (causes && !causes->has(cause_named(row.text(3)))) continue;
        if (run.basis().find(row.number(0), row.number(1)) != nullptr) by_gpu[row.number(0)] += row.number(2);
    }
    double most_ns = 0;
    for (const auto& [gpu_id, ns] : by_gpu)
        most_ns = std::max(
            most_ns, static_cast<double>(ns) / static_cast<double>(run.basis().total_of(gpu_id)->steps));
    return run.what_if().of_gain(most_ns);
}

Gain without_contention(const Situation& run, Causes causes, const Gain& gain) {
    const double left = 1 - std::min(1.0, contended_ns(run, causes) / std::max(1.0, gain.high_ns));
    return {gain.low_ns * left, gain.high_ns * left};
}

}  // namespace gpushim::analysis
