// Most decodes are one graph launch, but some are launched kernel by kernel: their batch size was not
// captured.
#include "../advice/rule.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_graph_misses {

namespace {

std::optional<Finding> look(const Situation& run) {
    const Serving& serving = run.serving();
    if (!serving.has_usual_graphs() || serving.decodes_without_graph() == 0) return {};
    Finding found;
    found.gain = serving.without(run.what_if(), ServingIdle::graph_miss);
    if (found.gain.high_ns <= 0) return {};
    found.title = count_text(serving.decodes_without_graph()) + " of " + count_text(serving.decodes()) +
                  " decodes have no graph: the GPU waits " + duration_text(found.gain.high_ns) +
                  " of a mean iteration for their launches";
    found.try_it = run.advice({"graph_misses"});
    found.confidence = 0.8;
    found.evidence = run.gaps_of(kLaunching);
    return found;
}

constexpr Heading kHeading = {"launch-bound", "Decodes that miss their graph",
                              "the GPU waits for launches of decodes without a graph",
                              "graphs for the batch sizes that occur"};
const RuleRegistration kRegistration({"graph_misses", Scope::kOneGpu, look, kHeading, Programs::serving});

}  // namespace

}  // namespace gpushim::analysis::rule_graph_misses
