// A server's host reads the sampled tokens back after each iteration and waits for them: the queue runs
// empty. What the host does after that is another rule's (between_iterations).
#include "../advice/rule.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_token_read_back {

namespace {

// A decode makes tokens, even where kernels write them into the host's memory. Of other iterations a copy
// tells; what a graph copies need not be recorded, nor which way a copy went that the driver's kernel made.
bool may_read_back(const Situation& run) {
    return run
        .number(
            "SELECT 1 FROM iteration WHERE kind IN ('decode', 'mixed') OR graphs > 0"
            " UNION ALL SELECT 1 FROM kernel WHERE graph_launches > 0"
            " UNION ALL SELECT 1 FROM copy_stat WHERE kind NOT IN ('h2d', 'd2d', 'p2p') LIMIT 1")
        .has_value();
}

std::optional<Finding> look(const Situation& run) {
    if (!may_read_back(run)) return {};  // it waits for something else
    Finding found;
    found.gain = run.serving().without(run.what_if(), ServingIdle::read_back);
    if (found.gain.high_ns <= 0) return {};
    found.title = "the GPU is idle " + duration_text(found.gain.high_ns) +
                  " of an iteration while the host waits for sampled tokens, or comes back from that";
    found.try_it = run.advice({"token_read_back"});
    found.confidence = 0.8;
    found.evidence = run.gaps_of({"sync"});
    return found;
}

constexpr Heading kHeading = {"sync-bound", "Reading each token back",
                              "the queue runs empty because the host reads each token",
                              "reading tokens an iteration later"};
const RuleRegistration kRegistration({"token_read_back", Scope::kOneGpu, look, kHeading, Programs::serving});

}  // namespace

}  // namespace gpushim::analysis::rule_token_read_back
