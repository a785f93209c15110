// A server's host reads the sampled tokens back after each iteration and waits for them: the queue runs
// empty. What the host does after that is another rule's (between_iterations).
#include "../advice/rule.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_token_read_back {

namespace {

std::optional<Finding> look(const Situation& run) {
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
