// The GPU waits for launches: the host cannot call as quickly as kernels end.
#include "../advice/rule.h"
#include "../text/units.h"
#include "../to_int64.h"

namespace gpushim::analysis::rule_launch_bound {

namespace {

constexpr Causes kLaunching = {"launch_call", "launch_bound", "launch_latency", "kernel_gap"};
// At a start they load code: that is another rule's.
constexpr Causes kSlowToo = {"launch_call", "launch_bound", "launch_latency", "kernel_gap", "slow_call"};

std::optional<Finding> look(const Situation& run) {
    if (run.serving().lacks_graphs()) return {};  // another rule's
    const WhatIf& what_if = run.what_if();
    const Causes causes = run.may_be_start({"slow_call"}) ? kLaunching : kSlowToo;
    const double idle_ns = what_if.idle_ns(causes);
    if (idle_ns <= 0) return {};
    const double launches = run.counted(
        run.real("SELECT max(n) FROM (SELECT sum(count) * 1.0 AS n FROM launch_stat GROUP BY gpu_id)")
            .value_or(0));
    const double small =
        run.real("SELECT sum(small) * 1.0 / sum(timed) FROM launch_stat WHERE timed > 0").value_or(0) *
        launches;
    Finding found;
    found.title = "the GPU waits " + duration_text(idle_ns) + " of a " + run.per() + " for " +
                  count_text(to_int64(launches)) + " launches, " + count_text(to_int64(small)) +
                  " of them for small kernels";
    found.try_it = run.advice({"launch_bound"});
    found.gain = what_if.without(causes, WhatIf::Left::kKernelGap);
    found.confidence = 0.85;
    found.evidence = run.gaps_of(causes);
    for (const Evidence& row :
         run.rows("launch_stat", "SELECT rowid FROM launch_stat ORDER BY count DESC LIMIT 1"))
        found.evidence.push_back(row);
    return found;
}

constexpr Heading kHeading = {"launch-bound", "Waiting for launches", "the GPU waits for launches",
                              "CUDA graphs or a compiler"};
const RuleRegistration kRegistration({"launch_bound", Scope::kOneGpu, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_launch_bound
