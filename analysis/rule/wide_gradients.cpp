// The model computes in 16 bits and reduces its gradients in 32: half of the bytes would do.
#include <algorithm>

#include "../text/units.h"
#include "excess.h"

namespace gpushim::analysis::rule_wide_gradients {

namespace {

constexpr double kComputesInHalf = 0.3;  // of the kernel time that is no communication
constexpr double kHalf = 0.5;            // of the bytes go; of a transfer no less, for rounds cost, too

double half_share(const Situation& run) {
    return run
        .real(
            "SELECT 1.0 * sum(CASE WHEN precision IN ('fp16', 'bf16') THEN sum_ns ELSE 0 END)"
            " / nullif(sum(sum_ns), 0) FROM kernel WHERE coalesce(family, '') <> 'comm'")
        .value_or(0);
}

// Of all transfers, those of messages that are as long as bytes decide.
struct Wide {
    double share = 0, reduced_bytes = 0, gathered_bytes = 0;
    std::vector<Evidence> evidence;
};

Wide wide_of(const Situation& run, const Traffic& traffic) {
    Wide wide;
    double ns = 0;
    for (const CollectiveKind& kind : traffic.kinds) {
        Query row = run.ask("SELECT dtype FROM collective_stat WHERE rowid = ?1");
        row.bind(1, kind.rowid);
        const bool is_wide = row.step() && row.text(0) == "float32" && kind.is_reduction();
        if (!is_wide || kind.bytes < kLatencyBound) continue;
        ns += kind.ns();
        (kind.op == "allgather" ? wide.gathered_bytes : wide.reduced_bytes) +=
            kind.calls * static_cast<double>(kind.bytes);
        if (wide.evidence.size() < 3) wide.evidence.push_back({"collective_stat", kind.rowid});
    }
    wide.share = traffic.ns() > 0 ? ns / traffic.ns() : 0;
    return wide;
}

// What is gathered was not added up: weights that are sharded.
constexpr Heading kSharded = {"communication-bound", "Weights and gradients wider than the computation",
                              "transfers run and nothing computes", "weights and gradients in 16 bits"};

std::string what_is_wide(const Wide& wide, const std::string& per) {
    const std::string reduced = bytes_text(wide.reduced_bytes), gathered = bytes_text(wide.gathered_bytes);
    if (wide.gathered_bytes <= 0) return reduced + " of a " + per + " are reduced in 32";
    if (wide.reduced_bytes <= 0) return gathered + " of a " + per + " are gathered in 32";
    return gathered + " of a " + per + " are gathered in 32, and " + reduced + " reduced";
}

std::optional<Finding> look(const Situation& run) {
    if (half_share(run) < kComputesInHalf) return {};
    const Traffic traffic(run);
    Wide wide = wide_of(run, traffic);
    if (wide.share <= 0) return {};
    Finding found;
    const bool gathers = wide.gathered_bytes > 0;
    if (gathers) found.heading = &kSharded;
    found.title = "kernels compute in 16 bits, and " + what_is_wide(wide, run.per()) +
                  "; these transfers take " + duration_text(wide.share * traffic.ns());
    found.try_it = run.advice({gathers ? "wide_gradients.sharded" : "wide_gradients"});
    found.gain = without_transfers(run, wide.share * kHalf * kReachedInPractice, wide.share * kHalf);
    found.confidence = 0.6;
    found.evidence = std::move(wide.evidence);
    return found;
}

constexpr Heading kHeading = {"communication-bound", "Gradients wider than the computation",
                              "transfers run and nothing computes", "gradients in 16 bits"};
const RuleRegistration kRegistration({"wide_gradients", Scope::kManyGpus, look, kHeading,
                                      Programs::training});

}  // namespace

}  // namespace gpushim::analysis::rule_wide_gradients
