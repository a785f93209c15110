// Most of the GPU's memory is free, and each step has costs that do not grow with the batch: idle time of
// launching and of what the host does in each step, and kernels too small to fill the GPU. With m times the
// batch they come once in m.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "../advice/rule.h"
#include "../advice/work.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_larger_batch {

namespace {

constexpr double kFull = 0.8;      // of memory; the rest is for what varies
constexpr double kMostTimes = 16;  // as much as anybody would change at once
// With more blocks such a kernel takes no longer, until the GPU is full; low: half of them are full before.
// What sums for long in few blocks goes over all rows of the batch in each of them, and takes longer: norms,
// a loss, products that are gradients of weights. A product without tensor cores takes long for less.
constexpr const char* kFewBlocks =
    "k.small_grid * 2 > k.timed AND coalesce(k.comm_source, 'none') = 'none' AND (k.sum_ns < 20000 * k.timed"
    " OR coalesce(k.family, '') NOT IN ('normalisation', 'reduction', 'loss')"
    " AND NOT (k.eligible = 1 AND coalesce(k.tensor_core, '') = 'yes'))";

std::optional<Finding> look(const Situation& run) {
    const auto used = run.real(
        "SELECT max(memory_peak_bytes * 1.0 / memory_total_bytes) FROM gpu"
        " WHERE memory_total_bytes > 0");
    if (!used || *used <= 0 || !run.has_steps()) return {};
    const double room = kFull / *used;
    const double times = std::min(kMostTimes, std::exp2(std::floor(std::log2(std::max(room, 1.0)))));
    if (times < 2) return {};
    const double once = 1 - 1 / times;
    static constexpr Causes kOfEachStep = {"launch_call",  "launch_bound",     "launch_latency", "kernel_gap",
                                           "framework",    "optimizer",        "python",         "host_cpu",
                                           "host_unknown", "between_launches", "graph_gap"};
    const Gain idle = run.what_if().without_usual(kOfEachStep, WhatIf::Left::kKernelGap);
    const Work small = kernels_where(run, kFewBlocks);
    const Gain filled = small.shorter_by({once / 2, once}, run);
    Finding found;
    // Were all of a step such costs, it would still come once in m.
    const double most_ns = once * run.step_ns();
    found.gain = {std::min(idle.low_ns * once + filled.low_ns, most_ns),
                  std::min(idle.high_ns * once + filled.high_ns, most_ns)};
    found.yields = (idle.low_ns + idle.high_ns) * once > filled.low_ns + filled.high_ns;
    char text[32];
    std::snprintf(text, sizeof text, "%.0f", times);
    found.title = "the memory peak is " + std::to_string(static_cast<int>(std::lround(100 * *used))) +
                  " % of the GPU's: there is room for " + text +
                  " times the batch, and costs that come once in each step would come once in " + text +
                  (small.ns > 0 ? "; kernels that do not fill the GPU take " + duration_text(small.ns) : "");
    found.try_it = run.advice({"larger_batch"});
    found.confidence = 0.5;
    found.evidence = run.rows("gpu", "SELECT gpu_id FROM gpu ORDER BY memory_peak_bytes DESC LIMIT 1");
    found.evidence.insert(found.evidence.end(), small.evidence.begin(), small.evidence.end());
    const std::vector<Evidence> gaps = run.gaps_of(kOfEachStep);
    found.evidence.insert(found.evidence.end(), gaps.begin(), gaps.end());
    return found;
}

constexpr Heading kHeading = {"small batch", "Room for a larger batch", "costs do not grow with the batch",
                              "a larger batch"};
const RuleRegistration kRegistration({"larger_batch", Scope::kOneGpu, look, kHeading, Programs::training});

}  // namespace

}  // namespace gpushim::analysis::rule_larger_batch
