#include "timed_gpus.h"

namespace gpushim::analysis {

std::vector<TimedGpu> timed_gpus(const Situation& run) {
    std::vector<TimedGpu> gpus;
    Query row = run.ask(
        "SELECT gpu_id, sum(window_ns), sum(busy_ns), sum(compute_ns), sum(copy_ns), count(*)"
        " FROM v_gpu_counted GROUP BY gpu_id ORDER BY gpu_id");
    while (row.step()) {
        if (row.real(1) <= 0) continue;
        const double each = run.has_steps() ? 1 / row.real(5) : 1e9 / row.real(1);
        gpus.push_back(
            {row.number(0), row.real(1) * each, row.real(2) * each, row.real(3) * each, row.real(4) * each});
    }
    return gpus;
}

TimedGpu timed_gpu(const Situation& run, int64_t gpu_id) {
    for (const TimedGpu& gpu : timed_gpus(run))
        if (gpu.gpu_id == gpu_id) return gpu;
    return {gpu_id, 0, 0, 0, 0};
}

}  // namespace gpushim::analysis
