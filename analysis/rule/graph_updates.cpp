// The GPU waits while the host makes graphs or updates them, in steps that count: they could have been kept.
#include "../advice/rule.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_graph_updates {

namespace {

constexpr Heading kAtStart = {"start-up", "Graphs made or updated",
                              "the GPU waits while graphs are made or updated",
                              "graphs made before what is recorded, and kept"};

std::optional<Finding> look(const Situation& run) {
    Finding found;
    static constexpr Causes kUpdates = {"graph_update"};
    found.gain = run.what_if().shorter([](const GpuInStep& gpu) {
        const double ns = gpu.idle_ns(kUpdates);
        return without_idle(gpu, ns);
    });
    if (found.gain.high_ns <= 0) return {};
    found.title = "the GPU is idle " + duration_text(found.gain.high_ns) + " of a " + run.per() +
                  " while the host captures, instantiates, updates or destroys graphs";
    const bool may_be_start = run.may_be_start(kUpdates);
    found.try_it =
        may_be_start ? run.advice({"graph_updates.start", "graph_updates"}) : run.advice({"graph_updates"});
    if (may_be_start) found.heading = &kAtStart;
    found.confidence = 0.8;
    found.evidence = run.gaps_of(kUpdates);
    return found;
}

constexpr Heading kHeading = {"launch-bound", "Graphs made or updated in each step",
                              "the GPU waits while graphs are made or updated", "graphs that are kept"};
const RuleRegistration kRegistration({"graph_updates", Scope::kOneGpu, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_graph_updates
