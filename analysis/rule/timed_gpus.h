// What GPUs did in a mean timed step (or a second), for rules that look at several of them. One thread.
#pragma once

#include <optional>
#include <vector>

#include "../advice/rule.h"

namespace gpushim::analysis {

struct TimedGpu {
    int64_t gpu_id;
    double window_ns, busy_ns, compute_ns, copy_ns;
};
std::vector<TimedGpu> timed_gpus(const Situation& run);    // by gpu_id
TimedGpu timed_gpu(const Situation& run, int64_t gpu_id);  // nothing was timed: zeros

// GPUs of a process work in turns: of what could overlap hardly anything does, in most steps.
constexpr double kSequential = 0.8;                            // of it, does not
std::optional<double> sequential_index(const Situation& run);  // the median of all steps

inline double idle_ns(const GpuInStep& gpu) { return static_cast<double>(gpu.window_ns - gpu.busy_ns); }

}  // namespace gpushim::analysis
