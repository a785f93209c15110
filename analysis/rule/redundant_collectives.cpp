// More is reduced in a step than the model has parameters: gradients go around twice. That is known where it
// is known how many parameters there are; else it may be where each of a step's batches reduces as much.
#include <cmath>
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

// Of each kind that moves more than a trifle there are as many in each batch.
bool are_alike(const Reductions& reductions, int64_t batches) {
    constexpr double kTrifle = 0.02, kNear = 0.02;
    double all_bytes = 0, uneven_bytes = 0;
    for (const CollectiveKind* kind : reductions.kinds) {
        const double each = kind->calls / static_cast<double>(batches);
        const double bytes = kind->calls * static_cast<double>(kind->bytes);
        all_bytes += bytes;
        if (each < 1 - kNear || std::abs(each - std::round(each)) > kNear * each) uneven_bytes += bytes;
    }
    return all_bytes > 0 && uneven_bytes <= kTrifle * all_bytes;
}

}  // namespace

double redundant_share(const Situation& run, const Traffic& traffic) {
    const auto ratio = ratio_to_params(run);
    if (!ratio || *ratio < kNearlyTwice || traffic.ns() <= 0) return 0;
    return (1 - 1 / *ratio) * Reductions(traffic).ns / traffic.ns();
}

namespace rule_redundant_collectives {

namespace {

// Nobody said how many parameters there are, but each batch of a step reduces as much.
std::optional<Finding> of_batches(const Situation& run, const Traffic& traffic) {
    const auto batches = run.number("SELECT batches FROM v_reduced_batches");
    const Reductions all(traffic);
    if (!batches || ratio_to_params(run) || traffic.ns() <= 0 || !are_alike(all, *batches)) return {};
    const double too_much = (1 - 1 / static_cast<double>(*batches)) * all.ns / traffic.ns();
    Finding found;
    found.title = "each of " + count_text(*batches) + " batches of a " + run.per() +
                  " reduces as much as the others, in " + count_text(to_int64(all.calls)) +
                  " calls together: of gradients, one reduction behind the last batch would do";
    found.try_it = run.advice({"redundant_collectives"});
    found.gain = {0, without_transfers(run, too_much, too_much).high_ns};
    found.confidence = 0.6;
    found.evidence = traffic.evidence(all.kinds);
    return found;
}

std::optional<Finding> look(const Situation& run) {
    const Traffic traffic(run);
    const double too_much = redundant_share(run, traffic);
    if (too_much <= 0) return of_batches(run, traffic);
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
