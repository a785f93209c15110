// A server's GPU waits while the host does what lies between two iterations: it schedules, detokenises,
// answers. Not for want of requests (no_requests).
#include <cmath>

#include "../advice/rule.h"
#include "../text/units.h"
#include "../to_int64.h"

namespace gpushim::analysis::rule_between_iterations {

namespace {

constexpr Causes kHost = {"host_cpu",   "host_blocked",  "host_unknown", "input_cpu",
                          "input_wait", "input_loading", "callback",     "between_launches"};

// Tokens and their scores come back at once; what is read more often decides on what is launched next.
constexpr double kManyReads = 2.5;

std::optional<Finding> look(const Situation& run) {
    Finding found;
    found.gain = run.serving().without(run.what_if(), ServingIdle::between_iterations);
    if (found.gain.high_ns <= 0) return {};
    found.title = "the GPU is idle " + duration_text(found.gain.high_ns) +
                  " of an iteration while the host schedules the next one or handles the tokens of the last";
    const double reads = run.reads_each();
    if (reads >= kManyReads)
        found.title +=
            "; it reads back " + count_text(to_int64(std::round(reads))) + " times in an iteration";
    found.where = run.seen_in(kHost);
    found.try_it = reads >= kManyReads ? run.advice({"between_iterations.reads", "between_iterations"})
                                       : run.advice({"between_iterations"});
    found.confidence = 0.8;
    found.evidence = run.gaps_of(kHost);
    return found;
}

constexpr Heading kHeading = {"host-bound", "The host between iterations",
                              "the GPU waits while the host schedules the next iteration",
                              "scheduling ahead of the GPU"};
const RuleRegistration kRegistration({"between_iterations", Scope::kInput, look, kHeading,
                                      Programs::serving});

}  // namespace

}  // namespace gpushim::analysis::rule_between_iterations
