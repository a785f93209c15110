// A run as one line: what is compared between runs. Read from its database; one thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "../advice/advise.h"
#include "../sqlite/database.h"

namespace gpushim::analysis {

// A mean step of a mean GPU, from whole timed steps, in parts that add up to it.
struct StepParts {
    double whole_ns = 0;
    double input_ns = 0;     // idle while the next batch is loaded
    double host_ns = 0;      // idle for anything else
    double transfer_ns = 0;  // of collectives, while nothing else ran
    double wait_ns = 0;      // for peers, likewise
    double pack_ns = 0;      // copies and kernels around collectives
    double work_ns = 0;      // the rest
};

struct RunSummary {
    std::string name;  // of its folder or file
    int64_t started_real_ns = 0;
    int64_t ranks = 0, gpus = 0;
    std::map<std::string, std::string> tags, environment;  // environment: as the first rank had it
    std::set<std::string> gpu_names, kernels;
    std::optional<double> busy_share, productive_share;  // means over its GPUs
    std::optional<double> mfu, product_mfu;              // by what a sample takes; by recorded products
    std::optional<double> joules_per_step;               // of a mean GPU
    std::optional<double> step_ns;  // median; where the host is ahead of the GPU (v_host_ahead), the mean
    std::optional<double> samples_per_step, samples_per_s;
    std::optional<StepParts> parts;  // none: no whole step was timed
    std::vector<Advice> advice;

    const Advice* top() const;  // none: nothing is worth doing
};

RunSummary summarise(const Database& run, std::string name, const Given& given);

// "tags data=synthetic; NVIDIA_TF32_OVERRIDE=0; 3 kernels gone, 12 new"; empty: nothing that is known.
std::string changes_text(const RunSummary& before, const RunSummary& after);

// What a step became shorter by, at as many samples as it had before. None: a step's length is not known.
std::optional<double> gained_ns(const RunSummary& before, const RunSummary& after);

}  // namespace gpushim::analysis
