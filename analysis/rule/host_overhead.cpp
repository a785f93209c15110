#include "host_overhead.h"

#include "../text/units.h"
#include "../to_int64.h"

namespace gpushim::analysis {

std::optional<Finding> waits_while_host_is(const Situation& run, Causes causes, const std::string& where) {
    const double idle_ns = run.what_if().idle_ns(causes);
    if (idle_ns <= 0) return {};
    Finding found;
    found.title =
        "the GPU waits " + duration_text(idle_ns) + " of a " + run.per() + " while the host is " + where;
    found.gain = run.what_if().without(causes, WhatIf::Left::kKernelGap);
    found.confidence = 0.8;
    found.where = run.seen_in(causes);
    found.evidence = run.gaps_of(causes);
    return found;
}

bool is_mostly_the_lock(const Situation& run) {
    constexpr int64_t kFewest = 10;
    if (!run.number("SELECT 1 FROM idle_python LIMIT 1")) return false;  // most runs
    Query seen = run.ask(
        "SELECT total(iif(cause = 'interpreter_lock', samples, 0)), total(samples)"
        " FROM idle_python JOIN v_gpu_basis USING (gpu_id, step) JOIN idle_cause USING (cause)"
        " WHERE cause_group = 'host'");
    return seen.step() && seen.real(0) >= kFewest && seen.real(0) >= 0.8 * seen.real(1);
}

std::optional<Finding> host_overhead(const Situation& run, const HostOverhead& is) {
    if (run.serving().lacks_graphs()) return {};  // another rule's
    std::optional<Finding> found = waits_while_host_is(run, is.causes, is.where);
    if (!found) return {};
    const int64_t launches = to_int64(run.counted(
        run.real("SELECT max(n) FROM (SELECT sum(executed) * 1.0 AS n FROM v_launch_work GROUP BY gpu_id)")
            .value_or(0)));
    found->title += " " + count_text(launches) + (launches == 1 ? " launch" : " launches");
    found->try_it = run.advice({is.id});
    return found;
}

}  // namespace gpushim::analysis
