// The ranks of a tensor-parallel model add up small results in each layer, and each of these takes the
// latency of the links, not the time of its bytes.
#include <algorithm>

#include "../text/units.h"
#include "traffic.h"

namespace gpushim::analysis::rule_small_reductions {

namespace {

constexpr int64_t kSmallBytes = 1 << 20;
constexpr double kFewest = 4;                        // in an iteration: layers
constexpr double kLowShare = 0.3, kHighShare = 0.6;  // of it, by kernels that are made for small messages

std::optional<Finding> look(const Situation& run) {
    const Traffic traffic(run);
    double calls = 0, small_ns = 0;
    int64_t largest_bytes = 0;
    std::vector<const CollectiveKind*> small;
    for (const CollectiveKind& kind : traffic.kinds) {
        if (!kind.is_reduction() || kind.bytes > kSmallBytes) continue;
        calls += kind.calls;
        small_ns += kind.ns();
        largest_bytes = std::max(largest_bytes, kind.bytes);
        small.push_back(&kind);
    }
    if (calls < kFewest || traffic.ns() <= 0) return {};
    const double share = small_ns / traffic.ns();
    Finding found;
    found.gain = less_exposed(run, kLowShare * share, kHighShare * share);
    if (found.gain.high_ns <= 0) return {};
    found.title = count_text(static_cast<int64_t>(calls + 0.5)) + " reductions of at most " +
                  bytes_text(static_cast<double>(largest_bytes)) + " take " + duration_text(small_ns) +
                  " of an iteration: their latency, not their bytes";
    found.try_it = run.advice({"small_reductions"});
    found.confidence = 0.6;
    found.evidence = traffic.evidence(small);
    return found;
}

constexpr Heading kHeading = {"communication-bound", "Small reductions",
                              "ranks add up small results one after another",
                              "kernels made for small messages"};
const RuleRegistration kRegistration({"small_reductions", Scope::kManyGpus, look, kHeading,
                                      Programs::serving});

}  // namespace

}  // namespace gpushim::analysis::rule_small_reductions
