// Bytes that leave the device and come back in the same step: something is computed on the host, or moved
// between GPUs, that could stay.
#include <algorithm>
#include <cstdio>

#include "../advice/rule.h"
#include "../text/units.h"
#include "../to_int64.h"

namespace gpushim::analysis::rule_round_trips {

namespace {

// "; the host has them for 100 us of a step (24 %)"
std::string with_the_host(const Situation& run, double between_ns) {
    if (between_ns <= 0) return "";
    const std::string text = "; the host has them for " + duration_text(between_ns) + " of a " + run.per();
    if (!run.has_steps() || run.step_ns() <= 0) return text;
    char share[24];
    std::snprintf(share, sizeof share, " (%.0f %%)", 100 * std::min(1.0, between_ns / run.step_ns()));
    return text + share;
}

std::optional<Finding> look(const Situation& run) {
    Query row = run.ask(
        "SELECT rowid, pattern, count, bytes, ns, gpu_id, coalesce(between_ns, 0) FROM transfer_pattern"
        " WHERE pattern IN ('round_trip', 'd2d_back') ORDER BY ns DESC LIMIT 1");
    if (!row.step()) return {};
    const bool by_host = row.text(1) == "round_trip";
    const double host_ns = run.counted(row.real(4));
    // What it costs the GPU is at most what it was idle, or copying, while these calls ran.
    const int64_t gpu_id = row.number(5);
    const Gain gain = run.what_if().shorter([&](const GpuInStep& gpu) {
        if (gpu.gpu_id != gpu_id) return Gain{};
        double idle_ns = 0;
        for (const IdlePart& part : gpu.idle) idle_ns += static_cast<double>(part.ns);
        const double most_ns = std::min(run.what_if().of_piece(host_ns), idle_ns);
        return Gain{most_ns / 2, most_ns};
    });
    Finding found;
    const std::string size = bytes_text(run.counted(row.real(3)));
    found.title = count_text(to_int64(run.counted(row.real(2)))) + " times in a " + run.per() + ", " + size +
                  (by_host ? " go to the host and back: " : " go to another GPU and back: ") +
                  duration_text(host_ns) + " of calls" + with_the_host(run, run.counted(row.real(6)));
    found.try_it = run.advice({by_host ? "round_trips.by_host" : "round_trips"});
    found.gain = gain;
    found.confidence = 0.6;
    found.evidence = {{"transfer_pattern", row.number(0)}};
    return found;
}

constexpr Heading kHeading = {"placement-bound", "Round trips between GPU and host",
                              "the GPU waits while the host works on its data", "that work on the GPU"};
const RuleRegistration kRegistration({"round_trips", Scope::kInput, look, kHeading, Programs::training});

}  // namespace

}  // namespace gpushim::analysis::rule_round_trips
