#include "timed_gpus.h"

namespace gpushim::analysis {

std::vector<TimedGpu> timed_gpus(const Situation& run) {
    std::vector<TimedGpu> gpus;
    for (const GpuTotal& total : run.basis().totals()) {
        const double window_ns = total.real(WhatRan::window);
        if (window_ns <= 0) continue;
        const double each =
            run.has_steps() ? 1 / static_cast<double>(total.steps) : run.step_ns() / window_ns;
        gpus.push_back({total.gpu_id, window_ns * each, total.real(WhatRan::busy) * each,
                        total.real(WhatRan::compute) * each, total.real(WhatRan::copy) * each});
    }
    return gpus;
}

TimedGpu timed_gpu(const Situation& run, int64_t gpu_id) {
    for (const TimedGpu& gpu : timed_gpus(run))
        if (gpu.gpu_id == gpu_id) return gpu;
    return {gpu_id, 0, 0, 0, 0};
}

std::optional<double> sequential_index(const Situation& run) {
    return run.real(
        "SELECT min(x) FROM (SELECT sequential_index AS x, row_number() OVER (ORDER BY sequential_index) AS "
        "n,"
        " count(*) OVER () AS all_of_them FROM across WHERE sequential_index IS NOT NULL)"
        " WHERE 2 * n >= all_of_them");
}

}  // namespace gpushim::analysis
