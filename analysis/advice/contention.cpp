#include "contention.h"

#include <algorithm>
#include <map>

namespace gpushim::analysis {

double contended_ns(const Situation& run) {
    std::map<int64_t, int64_t> by_gpu;
    Query row = run.ask("SELECT gpu_id, step, ns FROM cpu_contention");
    while (row.step())
        if (run.basis().find(row.number(0), row.number(1)) != nullptr) by_gpu[row.number(0)] += row.number(2);
    double most_ns = 0;
    for (const auto& [gpu_id, ns] : by_gpu)
        most_ns = std::max(
            most_ns, static_cast<double>(ns) / static_cast<double>(run.basis().total_of(gpu_id)->steps));
    return most_ns;
}

}  // namespace gpushim::analysis
