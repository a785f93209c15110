// The first GPU does what the others do and more: it gathers outputs, keeps the only copy of something, or
// evaluates, and the others wait for it.
//
//   GPU 0   ████ as the others ████░ only here ░
//   GPU 1   ████ as the others ████·············
#include <algorithm>
#include <cstdio>

#include "../text/units.h"
#include "timed_gpus.h"

namespace gpushim::analysis::rule_first_gpu {

namespace {

constexpr double kWaitsItself = 0.5;  // of what it computes more

// In one process it is DataParallel or its like; with a process for each GPU it is something else.
bool is_one_process(const Situation& run) {
    return run.number("SELECT count(DISTINCT rank_id) FROM gpu").value_or(0) <= 1;
}

std::string what_only_it_does(const Situation& run, const Query& row) {
    const int64_t kernels = row.number(3);
    const double bytes = run.counted(row.real(4));
    std::string words;
    if (kernels > 0)
        words =
            count_text(kernels) + (kernels == 1 ? " kernel that" : " kernels that") + " no other GPU runs";
    if (bytes > 0)
        words += (words.empty() ? "" : " and ") + bytes_text(bytes) + " copied between it and other GPUs";
    return words.empty() ? "" : ": " + words;
}

// Of a mean step, how long it was idle for another GPU of the process.
double waits_for_others_ns(const Situation& run, int64_t gpu_id) {
    double sum_ns = 0, steps = 0;
    for (const GpuInStep& gpu : run.basis().rows()) {
        if (gpu.gpu_id != gpu_id) continue;
        sum_ns += gpu.idle_ns({"wait_other_gpu", "sync_other_gpu"});
        ++steps;
    }
    return steps > 0 ? run.what_if().of_gain(sum_ns / steps) : 0;
}

std::optional<Finding> look(const Situation& run) {
    Query row = run.ask(
        "SELECT rowid, gpu_id, excess, coalesce(only_kernels, 0), coalesce(p2p_bytes, 0)"
        " FROM first_gpu WHERE excess > 0 LIMIT 1");
    if (!row.step() || !run.is_known()) return {};
    const int64_t gpu_id = row.number(1);
    const double excess = row.real(2);
    const double compute_ns = timed_gpu(run, gpu_id).compute_ns;
    if (compute_ns <= 0) return {};
    const double more_ns = compute_ns * excess / (1 + excess);
    // Two models, or halves of one: its own work does not come behind what all do, and others are not what
    // waits.
    if (waits_for_others_ns(run, gpu_id) >= kWaitsItself * more_ns) return {};
    char percent[32];
    std::snprintf(percent, sizeof percent, "%.0f %%", excess * 100);
    Finding found;
    found.title = "the first GPU computes " + std::string(percent) + " longer than the others, " +
                  duration_text(more_ns) + " of a " + run.per() + what_only_it_does(run, row);
    found.try_it = run.advice({is_one_process(run) ? "first_gpu.one_process" : "first_gpu"});
    // Spread over all GPUs, its part of that stays with it.
    const double part = 1.0 / static_cast<double>(std::max<int64_t>(1, run.gpus()));
    found.gain = run.what_if().shorter({{gpu_id, {more_ns * (1 - part), more_ns}}});
    found.confidence = 0.8;
    found.evidence = {{"first_gpu", row.number(0)}};
    return found;
}

constexpr Heading kHeading = {"uneven", "Work that the first GPU does alone",
                              "the others wait for the first GPU", "its own work spread over all"};
const RuleRegistration kRegistration({"first_gpu", Scope::kManyGpus, look, kHeading, Programs::training});

}  // namespace

}  // namespace gpushim::analysis::rule_first_gpu
