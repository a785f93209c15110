// More is reduced in a step than the model has parameters: gradients go around twice. Needs to know how many
// parameters there are.
#include <cstdio>

#include "../text/units.h"
#include "../to_int64.h"
#include "excess.h"

namespace gpushim::analysis {

namespace {

constexpr double kNearlyTwice = 1.8;

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

struct Reductions {
    std::vector<const CollectiveKind*> kinds;
    double ns = 0, calls = 0;

    explicit Reductions(const Traffic& traffic) {
        for (const CollectiveKind& kind : traffic.kinds) {
            if (!kind.is_reduction()) continue;
            kinds.push_back(&kind);
            ns += kind.ns();
            calls += kind.calls;
        }
    }
};

}  // namespace

double redundant_share(const Situation& run, const Traffic& traffic) {
    const auto ratio = ratio_to_params(run);
    if (!ratio || *ratio < kNearlyTwice || traffic.ns() <= 0) return 0;
    return (1 - 1 / *ratio) * Reductions(traffic).ns / traffic.ns();
}

namespace rule_redundant_collectives {

namespace {

std::optional<Finding> look(const Situation& run) {
    const Traffic traffic(run);
    const double too_much = redundant_share(run, traffic);
    if (too_much <= 0) return {};
    const Reductions all(traffic);
    const auto micro_steps = run.number("SELECT max(micro_steps) FROM rank").value_or(1);
    Finding found;
    found.title = "each " + run.per() + " reduces " + times_text(*ratio_to_params(run)) +
                  " the model's parameters, in " + count_text(to_int64(all.calls)) + " calls" +
                  (micro_steps > 1 ? ", over " + count_text(micro_steps) + " micro-batches" : "");
    found.try_it = run.advice({"redundant_collectives"});
    found.gain = without_transfers(run, too_much, too_much);
    found.confidence = 0.8;
    found.evidence = traffic.evidence(all.kinds);
    for (const Evidence& row : run.rows("allreduce_check", "SELECT rowid FROM allreduce_check"))
        found.evidence.insert(found.evidence.begin(), row);
    return found;
}

constexpr Heading kHeading = {"communication-bound", "Parameters reduced more than once",
                              "transfers run that one reduction would spare", "one reduction in a step"};
const RuleRegistration kRegistration({"redundant_collectives", Scope::kManyGpus, look, kHeading,
                                      Programs::training});

}  // namespace

}  // namespace rule_redundant_collectives

}  // namespace gpushim::analysis
