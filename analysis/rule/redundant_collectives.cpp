// More is reduced in a step than the model has parameters: gradients go around twice. Needs to know how many
// parameters there are.
#include <cstdio>

#include "../text/units.h"
#include "traffic.h"

namespace gpushim::analysis {

namespace {

constexpr double kNearlyTwice = 1.8;  // re-gathering sharded parameters makes 1.5, which is as it should be

std::optional<double> ratio_to_params(const Situation& run) {
    const auto implied = run.real("SELECT params_implied FROM allreduce_check");
    if (implied && run.given().params.value_or(0) > 0)
        return *implied / static_cast<double>(*run.given().params);
    return run.real("SELECT ratio_to_params FROM allreduce_check");
}

std::string times_text(double ratio) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f times", ratio);
    return text;
}

std::optional<Finding> look(const Situation& run) {
    const auto ratio = ratio_to_params(run);
    if (!ratio || *ratio < kNearlyTwice) return {};
    const Traffic traffic(run);
    std::vector<const CollectiveKind*> reductions;
    double ns = 0, calls = 0;
    for (const CollectiveKind& kind : traffic.kinds)
        if (kind.is_reduction()) {
            reductions.push_back(&kind);
            ns += kind.ns();
            calls += kind.calls;
        }
    if (ns <= 0) return {};
    const double too_much = (1 - 1 / *ratio) * ns / traffic.ns();
    const auto micro_steps = run.number("SELECT max(micro_steps) FROM rank").value_or(1);
    Finding found;
    found.title = "each " + run.per() + " reduces " + times_text(*ratio) + " the model's parameters, in " +
                  count_text(static_cast<int64_t>(calls + 0.5)) + " calls" +
                  (micro_steps > 1 ? ", over " + count_text(micro_steps) + " micro-batches" : "");
    found.try_it =
        "reduce each gradient once: model.no_sync() in PyTorch while gradients accumulate, no all_reduce of "
        "your own beside DDP; in TensorFlow one apply_gradients under the strategy, in Horovod "
        "backward_passes_per_step; in JAX one psum of all gradients";
    found.gain = without_transfers(run, too_much, too_much);
    found.confidence = 0.8;
    found.evidence = traffic.evidence(reductions);
    for (const Evidence& row : run.rows("allreduce_check", "SELECT rowid FROM allreduce_check"))
        found.evidence.insert(found.evidence.begin(), row);
    return found;
}

const RuleRegistration kRegistration({"redundant_collectives", Scope::kManyGpus, look});

}  // namespace

}  // namespace gpushim::analysis
