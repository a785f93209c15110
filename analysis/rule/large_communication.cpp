// There is so much to transfer in a step that compute cannot hide it: more samples for each reduction make it
// a smaller part. The factor is that by which exposed transfers would be below 5 % of the step.
//
//   share of the step = E / (m R + E) < 0.05        E exposed transfers, R the rest, m the factor
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "../text/units.h"
#include "excess.h"

namespace gpushim::analysis::rule_large_communication {

namespace {

constexpr double kFine = 0.05;  // of the step
constexpr double kLarge = 0.5;  // transfers over compute: from here on overlap alone does not help much
constexpr double kFull = 0.9;   // of the memory
constexpr int64_t kMostFactor = 1024;  // beyond it nobody would

// How many times the batch fits; weights do not grow, so it is at least so many. 1 and more.
double fitting_factor(const Situation& run) {
    const auto share = run.real(
        "SELECT max(1.0 * memory_peak_bytes / memory_total_bytes) FROM gpu WHERE memory_total_bytes > 0");
    return share && *share > 0 ? std::max(1.0, std::floor(kFull / *share)) : 1;
}

std::string times_text(double factor) {
    char text[32];
    std::snprintf(text, sizeof text, factor < 10 ? "%.1f" : "%.0f", factor);
    return text;
}

// What ranks exchange of their samples grows with these; what they reduce does not.
double share_of_reductions(const Traffic& traffic) {
    double ns = 0;
    for (const CollectiveKind& kind : traffic.kinds) ns += kind.is_reduction() ? kind.ns() : 0;
    return traffic.ns() > 0 ? ns / traffic.ns() : 0;
}

std::optional<Finding> look(const Situation& run) {
    const Exposed exposed = exposed_communication(run);
    const Traffic traffic(run);
    const double needed = needed_share(run, traffic) * share_of_reductions(traffic);
    const double exposed_ns = needed * exposed.transfer_ns;
    const double rest_ns = run.step_ns() - exposed.transfer_ns;
    if (needed * traffic.ns() < kLarge * exposed.compute_ns || exposed_ns <= 0 || rest_ns <= 0) return {};
    const double factor = (1 - kFine) / kFine * exposed_ns / rest_ns;
    if (factor <= 1 || factor > kMostFactor) return {};
    std::vector<const CollectiveKind*> all;
    for (const CollectiveKind& kind : traffic.kinds)
        if (kind.is_reduction()) all.push_back(&kind);
    const auto goes = [](double times) { return 1 - 1 / times; };
    const double fits = std::min(factor, std::max(2.0, fitting_factor(run)));
    Finding found;
    found.title = "communication takes " + duration_text(needed * traffic.ns()) + " of a " + run.per() +
                  " of " + duration_text(run.step_ns()) + ", compute " + duration_text(exposed.compute_ns) +
                  "; with " + times_text(factor) +
                  " times as many samples per reduction, exposed communication would be below 5 %";
    found.try_it = run.advice({"large_communication"});
    found.gain = less_exposed(run, needed * goes(fits), needed * goes(factor));
    found.confidence = 0.7;
    found.evidence = traffic.evidence(all);
    return found;
}

constexpr Heading kHeading = {"communication-bound", "Too much communication for the work",
                              "transfers run and nothing computes", "fewer or smaller transfers"};
const RuleRegistration kRegistration({"large_communication", Scope::kManyGpus, look, kHeading,
                                      Programs::training});

}  // namespace

}  // namespace gpushim::analysis::rule_large_communication
