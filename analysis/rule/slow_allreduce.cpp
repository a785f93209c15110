// Large messages take longer than their bytes and the bandwidth say: parameters * 4 / B, or a ring's
// 2 (n - 1) / n of the bytes. By a bandwidth that a person gave, that was measured, or of the topology.
#include <cmath>

#include "../text/units.h"
#include "excess.h"

namespace gpushim::analysis {

namespace {

std::string by_parameters(const Situation& run, double bandwidth) {
    auto params = run.given().params;
    if (!params) params = run.number("SELECT params FROM allreduce_check");
    if (!params || *params <= 0) return "";
    return "; " + count_text(*params) + " parameters x 4 bytes at " + rate_text(bandwidth) + " are " +
           duration_text(static_cast<double>(*params) * 4e9 / bandwidth);
}

struct Slow {
    std::vector<const CollectiveKind*> kinds;
    double ns = 0, expected_ns = 0;

    explicit Slow(const Traffic& traffic) {
        for (const CollectiveKind& kind : traffic.kinds) {
            if (!kind.is_reduction() || kind.bytes < kLatencyBound || !kind.is_judged) continue;
            if (!kind.expected_ns || *kind.expected_ns >= kReachedInPractice * kind.each_ns) continue;
            kinds.push_back(&kind);
            ns += kind.ns();
            expected_ns += kind.calls * *kind.expected_ns;
        }
    }
};

}  // namespace

double below_expected_share(const Traffic& traffic) {
    const Slow slow(traffic);
    return traffic.ns() > 0 ? (slow.ns - slow.expected_ns) / traffic.ns() : 0;
}

namespace rule_slow_allreduce {

namespace {

constexpr Heading kOthers = {"communication-bound", "Collectives below the links' rate",
                             "collectives run longer than the links explain", "the links' rate"};

std::optional<Finding> look(const Situation& run) {
    const Traffic traffic(run);
    const Slow slow(traffic);
    if (slow.kinds.empty()) return {};
    const double bandwidth = slow.kinds.front()->bandwidth_bytes_per_s.value_or(0);
    Finding found;
    const std::string operations = Traffic::operations(slow.kinds);
    const bool is_one = operations.find(' ') == std::string::npos;
    found.title = operations + (is_one ? " takes " : " take ") + duration_text(slow.ns) + " of a " +
                  run.per() + ", not counting waits for other ranks; for " + (is_one ? "its" : "their") +
                  " bytes at " + rate_text(bandwidth) + (is_one ? " it" : " they") + " should take " +
                  duration_text(slow.expected_ns) + (bandwidth > 0 ? by_parameters(run, bandwidth) : "");
    if (operations != "AllReduce") found.heading = &kOthers;
    found.try_it = run.advice({"slow_allreduce"});
    const double at_best_ns = slow.expected_ns / kReachedInPractice;
    found.gain = without_transfers(run, std::max(0.0, slow.ns - at_best_ns) / traffic.ns(),
                                   (slow.ns - slow.expected_ns) / traffic.ns());
    found.confidence = 0.7;
    found.evidence = traffic.evidence(slow.kinds);
    return found;
}

constexpr Heading kHeading = {"communication-bound", "AllReduce below the links' rate",
                              "AllReduce runs longer than the links explain", "the links' rate"};
const RuleRegistration kRegistration({"slow_allreduce", Scope::kManyGpus, look, kHeading});

}  // namespace

}  // namespace rule_slow_allreduce

}  // namespace gpushim::analysis
