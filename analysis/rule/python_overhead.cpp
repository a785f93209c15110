// The GPU waits while the host is on its way from one operator to the next: Python, for most programs.
#include "../advice/rule.h"
#include "../text/units.h"
#include "../to_int64.h"

namespace gpushim::analysis::rule_python_overhead {

namespace {

std::optional<Finding> look(const Situation& run) {
    static constexpr Causes kCauses = {"python"};
    const double idle_ns = run.what_if().idle_ns(kCauses);
    if (idle_ns <= 0) return {};
    const double launches = run.counted(
        run.real("SELECT max(n) FROM (SELECT sum(count) * 1.0 AS n FROM launch_stat GROUP BY gpu_id)")
            .value_or(0));
    Finding found;
    found.title = "the GPU waits " + duration_text(idle_ns) + " of a " + run.per() +
                  " while the host is between operators, in Python or other code of the program, for " +
                  count_text(to_int64(launches)) + " launches";
    found.try_it =
        "Run less Python for each operator: torch.compile or CUDA graphs; no loops over tensors or "
        "parameters "
        "in the step; modules and hooks that do nothing go; tf.function; jax.jit around the whole step.";
    found.gain = run.what_if().without(kCauses, WhatIf::Left::kKernelGap);
    found.confidence = 0.8;
    found.evidence = run.gaps_of(kCauses);
    return found;
}

const RuleRegistration kRegistration({"python_overhead", Scope::kOneGpu, look});

}  // namespace

}  // namespace gpushim::analysis::rule_python_overhead
