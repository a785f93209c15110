// Starting work on the GPU and copying for it takes longer than the work, and the work is of small kernels:
// as it is, it is too little for a GPU. How long a CPU would take is not known, so this is a note without a
// gain.
#include <algorithm>
#include <cstdio>

#include "../text/units.h"
#include "timed_gpus.h"

namespace gpushim::analysis::rule_not_worth_gpu {

namespace {

constexpr double kSmall = 0.8;      // of the launches: shorter than twice the launch latency
constexpr double kDominates = 0.5;  // of the step: launches and copies

struct Effort {
    double computing_ns = 0, launching_ns = 0, copying_ns = 0;
};

// On the GPU that computes most, in the mean step.
Effort effort_of(const Situation& run) {
    TimedGpu most = {};
    for (const TimedGpu& gpu : timed_gpus(run))
        if (most.window_ns <= 0 || gpu.compute_ns > most.compute_ns) most = gpu;
    const GpuTotal* total = run.basis().total_of(most.gpu_id);
    if (most.window_ns <= 0 || total == nullptr) return {};
    const auto in_a_step = [&](CauseGroup group) {
        return static_cast<double>(total->idle_ns(group)) / total->real(WhatRan::window) * most.window_ns;
    };
    return {most.compute_ns, in_a_step(CauseGroup::launch), most.copy_ns + in_a_step(CauseGroup::copy)};
}

std::optional<Finding> look(const Situation& run) {
    if (!run.is_known()) return {};
    const Effort effort = effort_of(run);
    const double around_ns = effort.launching_ns + effort.copying_ns;
    const auto small = run.real("SELECT 1.0 * sum(small) / sum(timed) FROM launch_stat WHERE timed > 0");
    if (effort.computing_ns >= around_ns || around_ns < kDominates * run.step_ns()) return {};
    if (small.value_or(0) < kSmall) return {};
    char percent[32];
    std::snprintf(percent, sizeof percent, "%.0f %%", *small * 100);
    Finding found;
    found.title = "the GPU computes " + duration_text(effort.computing_ns) + " of a " + run.per() +
                  ", and launching (" + duration_text(effort.launching_ns) + ") and copying (" +
                  duration_text(effort.copying_ns) + ") take longer; " + percent +
                  " of its kernels are shorter than two launches";
    found.try_it = run.advice({"not_worth_gpu"});
    found.confidence = 0.5;
    found.kind = Kind::kNote;
    found.evidence = run.rows("launch_stat", "SELECT rowid FROM launch_stat ORDER BY count DESC LIMIT 1");
    for (const Evidence& gap : run.gaps_of({"launch_bound", "launch_call", "launch_latency", "copy_staging"}))
        found.evidence.push_back(gap);
    return found;
}

constexpr Heading kHeading = {"too little work", "Little work for a GPU", "", ""};
const RuleRegistration kRegistration({"not_worth_gpu", Scope::kOneGpu, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_not_worth_gpu
