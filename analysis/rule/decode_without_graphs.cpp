// Decodes are launched kernel by kernel, and the GPU waits for launches. Where most have a graph and some
// have none, that is graph_misses.
#include "../advice/rule.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_decode_without_graphs {

namespace {

std::optional<Finding> look(const Situation& run) {
    const Serving& serving = run.serving();
    if (serving.has_usual_graphs()) return {};
    Finding found;
    found.gain = serving.without(run.what_if(), ServingIdle::eager_decode);
    if (found.gain.high_ns <= 0) return {};
    found.title = "the GPU waits " + duration_text(found.gain.high_ns) +
                  " of an iteration for launches of decodes; " + count_text(serving.decodes_without_graph()) +
                  " of " + count_text(serving.decodes()) + " are launched kernel by kernel";
    found.try_it = run.advice({"decode_without_graphs"});
    found.confidence = 0.85;
    found.evidence = run.gaps_of(kLaunching);
    return found;
}

constexpr Heading kHeading = {"launch-bound", "Decodes without graphs",
                              "the GPU waits for launches of decodes", "a CUDA graph for each batch size"};
const RuleRegistration kRegistration({"decode_without_graphs", Scope::kOneGpu, look, kHeading,
                                      Programs::serving});

}  // namespace

}  // namespace gpushim::analysis::rule_decode_without_graphs
