// The GPU waits while the framework dispatches operators: between two launches the host is in its code.
#include "../advice/rule.h"
#include "../text/units.h"
#include "../to_int64.h"

namespace gpushim::analysis::rule_framework_overhead {

namespace {

std::optional<Finding> look(const Situation& run) {
    static constexpr Causes kCauses = {"framework", "optimizer"};
    const double idle_ns = run.what_if().idle_ns(kCauses);
    if (idle_ns <= 0) return {};
    const double launches = run.counted(
        run.real("SELECT max(n) FROM (SELECT sum(count) * 1.0 AS n FROM launch_stat GROUP BY gpu_id)")
            .value_or(0));
    Finding found;
    found.title = "the GPU waits " + duration_text(idle_ns) + " of a " + run.per() +
                  " while the host is in operators of the framework, between " +
                  count_text(to_int64(launches)) + " launches";
    found.try_it =
        "Dispatch fewer operators: torch.compile(mode='reduce-overhead') or CUDA graphs, optimizers with "
        "fused=True or foreach=True; tf.function(jit_compile=True); jax.jit around the whole step; a larger "
        "batch.";
    found.gain = run.what_if().without(kCauses, WhatIf::Left::kKernelGap);
    found.confidence = 0.8;
    found.evidence = run.gaps_of(kCauses);
    return found;
}

const RuleRegistration kRegistration({"framework_overhead", Scope::kOneGpu, look});

}  // namespace

}  // namespace gpushim::analysis::rule_framework_overhead
