// The GPU is idle because there is nothing to serve: no fault, and nothing that a change of the program
// saves.
#include <cstdio>

#include "../advice/rule.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_no_requests {

namespace {

constexpr double kWorthSaying = 0.05;  // of the time

std::optional<Finding> look(const Situation& run) {
    const Gain idle = run.serving().without(run.what_if(), ServingIdle::no_request);
    if (run.step_ns() <= 0 || idle.high_ns < kWorthSaying * run.step_ns()) return {};
    Finding found;
    char share[32];
    std::snprintf(share, sizeof share, "%.0f %%", 100 * idle.high_ns / run.step_ns());
    const bool is_measured = run.serving().marks_requests();
    found.title = "for " + std::string(share) +
                  (is_measured ? " of the time the GPU was idle and no request was open"
                               : " of the time the host slept and nothing was to serve (inferred from how "
                                 "long it slept)");
    found.try_it = run.advice({"no_requests"});
    found.confidence = is_measured ? 0.95 : 0.7;
    found.kind = Kind::kNote;
    found.evidence = run.gaps_of({"host_blocked", "input_wait"});
    return found;
}

constexpr Heading kHeading = {"idle", "Nothing to serve", "", ""};
const RuleRegistration kRegistration({"no_requests", Scope::kInput, look, kHeading, Programs::serving});

}  // namespace

}  // namespace gpushim::analysis::rule_no_requests
