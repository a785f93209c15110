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
    double share = 0, bytes = 0;
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
        wide.bytes += kind.calls * static_cast<double>(kind.bytes);
        if (wide.evidence.size() < 3) wide.evidence.push_back({"collective_stat", kind.rowid});
    }
    wide.share = traffic.ns() > 0 ? ns / traffic.ns() : 0;
    return wide;
}

std::optional<Finding> look(const Situation& run) {
    if (half_share(run) < kComputesInHalf) return {};
    const Traffic traffic(run);
    Wide wide = wide_of(run, traffic);
    if (wide.share <= 0) return {};
    Finding found;
    found.title = "kernels compute in 16 bits, and " + bytes_text(wide.bytes) + " of a " + run.per() +
                  " are reduced in 32; these transfers take " + duration_text(wide.share * traffic.ns());
    found.try_it = run.advice({"wide_gradients"});
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
