// GPUs of one process start one after another, because one thread launches for all of them.
//
//   thread      |launches for 0|launches for 1|
//   GPU 0       ·█████████████████·············
//   GPU 1       ················█████████████████       starts late by all that was launched for GPU 0
#include <algorithm>
#include <map>

#include "../text/units.h"
#include "timed_gpus.h"

namespace gpushim::analysis::rule_staggered_launches {

namespace {

struct Late {
    double ns = 0, launching_ns = 0;  // in the mean step; of it, idle while another GPU was launched for
    std::map<std::pair<int64_t, int64_t>, double> by_step;  // gpu_id, step
};

// First launches of the GPUs of one process are from the same begin of a step; only the latest counts.
Late late_of(const Situation& run) {
    Late late;
    if (run.number("SELECT 1 FROM gpu GROUP BY rank_id HAVING count(*) > 1") == std::nullopt) return late;
    Query row = run.ask(
        "WITH first AS ("
        " SELECT b.gpu_id, b.step, u.rank_id, g.first_launch_ns AS ns,"
        "  min(g.first_launch_ns) OVER (PARTITION BY u.rank_id, b.step) AS first_ns,"
        "  max(g.first_launch_ns) OVER (PARTITION BY u.rank_id, b.step) AS last_ns,"
        "  coalesce((SELECT sum(p.ns) FROM gap p WHERE p.gpu_id = b.gpu_id AND p.step = b.step"
        "            AND p.cause = 'launching_other_gpu'), 0) AS launching_ns"
        " FROM v_gpu_basis b JOIN gpu u ON u.gpu_id = b.gpu_id"
        "  JOIN gpu_step g ON g.gpu_id = b.gpu_id AND g.step = b.step"
        " WHERE b.basis = 'steps' AND g.first_launch_ns IS NOT NULL)"
        " SELECT gpu_id, step, last_ns - first_ns, ns = last_ns, launching_ns FROM first");
    double steps = 0;
    while (row.step()) {
        late.by_step[{row.number(0), row.number(1)}] = row.real(2);
        if (row.number(3) == 0 || row.real(2) <= 0) continue;
        late.ns += row.real(2);
        late.launching_ns += std::min(row.real(4), row.real(2));
        ++steps;
    }
    if (steps > 0) {
        late.ns /= steps;
        late.launching_ns /= steps;
    }
    return late;
}

std::optional<Finding> look(const Situation& run) {
    const Late late = late_of(run);
    if (late.ns <= 0) return {};
    const double low_share = late.launching_ns / late.ns;
    Finding found;
    found.title = "one process launches for its GPUs one after another: the last starts " +
                  duration_text(late.ns) + " into a " + run.per() + " after the first";
    found.try_it = run.advice({"staggered_launches"});
    found.gain = run.what_if().shorter([&](const GpuInStep& gpu) {
        const auto step = late.by_step.find({gpu.gpu_id, gpu.step});
        if (step == late.by_step.end()) return Gain{};
        // While the host waits for another GPU, a thread for each would wait as well.
        const double high_ns = std::min(step->second, idle_ns(gpu) - gpu.idle_ns({"sync_other_gpu"}));
        return Gain{low_share * high_ns, high_ns};
    });
    found.confidence = 0.7;
    found.evidence = run.rows("across",
                              "SELECT rowid FROM across WHERE stagger_ns IS NOT NULL"
                              " ORDER BY stagger_ns DESC, step LIMIT 3");
    for (const Evidence& gap : run.gaps_of({"launching_other_gpu"})) found.evidence.push_back(gap);
    return found;
}

constexpr Heading kHeading = {"launch-bound", "GPUs that start one after another",
                              "GPUs wait for launches to another one", "a process or thread for each GPU"};
const RuleRegistration kRegistration({"staggered_launches", Scope::kManyGpus, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_staggered_launches
