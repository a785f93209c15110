// Functions of the host stand in a stream, and what is behind them waits until they are over: callbacks that
// print or count, messages by the processor, work that was left on the host.
#include "../advice/rule.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_host_functions {

namespace {

constexpr Causes kCauses = {"wait_host_callback"};

std::optional<Finding> look(const Situation& run) {
    const double idle_ns = run.what_if().idle_ns(kCauses);
    if (idle_ns <= 0) return {};
    Finding found;
    found.title = "the GPU waits " + duration_text(idle_ns) + " of a " + run.per() +
                  " for functions of the host that stand in its streams";
    found.try_it = run.advice({"host_functions"});
    // What is behind one may need what it makes.
    found.gain = {0, run.what_if().without(kCauses).high_ns};
    found.confidence = 0.7;
    found.evidence = run.gaps_of(kCauses);
    return found;
}

constexpr Heading kHeading = {"host-bound", "Functions of the host in a stream",
                              "the GPU waits for functions of the host in its streams",
                              "such functions on streams of their own"};
const RuleRegistration kRegistration({"host_functions", Scope::kOneGpu, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_host_functions
