// Copies from the device run and nothing else does: checkpoints, in some steps, or results in each. The GPU
// is busy with them, so no idle time says so. Small ones are waits (sync_every_step), and what comes back
// in every step beside others repeated_copies has.
#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "../advice/rule.h"
#include "../advice/some_steps.h"
#include "../advice/work.h"
#include "../text/units.h"
#include "repeated.h"

namespace gpushim::analysis::rule_copies_out {

namespace {

constexpr int64_t kCopiesOut = 16;  // activity.classes of these alone

// By GPU: what share of the time of copies from the device large ones have, which come in steps.
std::map<int64_t, double> share_of_large(const Situation& run) {
    std::map<int64_t, double> shares;
    Query row = run.ask(
        "SELECT gpu_id, sum(CASE WHEN max_bytes >= 65536 AND steps > 0 THEN blocks_kernels_ns ELSE 0 END) * "
        "1.0"
        " / nullif(sum(blocks_kernels_ns), 0) FROM copy_stat WHERE kind = 'd2h' GROUP BY gpu_id");
    while (row.step()) shares[row.number(0)] = row.real(1);
    return shares;
}

using PlaceOfStep = std::pair<int64_t, int64_t>;  // the GPU, its step

std::map<PlaceOfStep, double> alone_ns(const Situation& run) {
    const std::map<int64_t, double> shares = share_of_large(run);
    std::map<PlaceOfStep, double> ns;
    Query row = run.ask("SELECT gpu_id, step, ns FROM activity WHERE classes = ?1");
    row.bind(1, kCopiesOut);
    while (row.step())
        if (const auto share = shares.find(row.number(0)); share != shares.end() && share->second > 0)
            ns[{row.number(0), row.number(1)}] = share->second * row.real(2);
    return ns;
}

// What is usual on a GPU, in the step in the middle, is repeated_copies': only what is more counts here.
void leave_out_what_is_usual(std::map<PlaceOfStep, double>& alone, size_t steps) {
    for (auto first = alone.begin(); first != alone.end();) {
        const auto end = alone.lower_bound({first->first.first + 1, INT64_MIN});
        std::vector<double> all;
        for (auto at = first; at != end; ++at) all.push_back(at->second);
        all.resize(std::max(all.size(), steps));  // there were none in the others
        const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
        std::nth_element(all.begin(), middle, all.end());
        for (; first != end; ++first) first->second = std::max(0.0, first->second - *middle);
    }
}

std::optional<Finding> look(const Situation& run) {
    if (!run.has_steps()) return {};
    std::map<PlaceOfStep, double> alone = alone_ns(run);
    const bool others_come_back = copies_come_back(run);
    if (others_come_back) leave_out_what_is_usual(alone, static_cast<size_t>(run.what_if().steps()));
    const auto of = [&](const GpuInStep& gpu) {
        const auto found = alone.find({gpu.gpu_id, gpu.step});
        return found == alone.end() ? 0 : found->second;
    };
    std::map<int64_t, double> longest;  // by number of the step
    const Factor hidden = factor("hidden_copy_out");
    Finding found;
    found.gain = run.what_if().shorter([&](const GpuInStep& gpu) {
        const double ns = of(gpu);
        longest[gpu.number] = std::max(longest[gpu.number], ns);
        return Gain{hidden.low * ns, hidden.high * ns};
    });
    if (found.gain.high_ns <= 0) return {};
    std::vector<std::pair<double, int64_t>> ns_and_number;
    for (const auto& [number, ns] : longest) ns_and_number.emplace_back(ns, number);
    const SomeSteps where = some_steps(std::move(ns_and_number));
    found.title = "copies from the device take " + duration_text(run.what_if().mean_ns(of)) + " of a step" +
                  (others_come_back ? " more than is usual" : "") + ", in which nothing else runs on the GPU";
    found.in_some_steps = where.is_some();
    if (found.in_some_steps) found.title += where.text();
    found.try_it = run.advice({"copies_out"});
    found.confidence = 0.6;
    found.evidence = run.rows("copy_stat",
                              "SELECT rowid FROM copy_stat WHERE kind = 'd2h' AND max_bytes >= 65536"
                              " ORDER BY blocks_kernels_ns DESC, rowid LIMIT 3");
    return found;
}

constexpr Heading kHeading = {"copy-bound", "Copies from the device",
                              "the GPU copies to the host and does nothing else",
                              "copies behind the next steps, or fewer of them"};
const RuleRegistration kRegistration({"copies_out", Scope::kInput, look, kHeading, Programs::training});

}  // namespace

}  // namespace gpushim::analysis::rule_copies_out
