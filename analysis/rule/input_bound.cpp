// The GPU waits for the next batch: the thread that launches loads it, or waits for workers that do.
#include <algorithm>

#include "../advice/contention.h"
#include "../advice/rule.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_input_bound {

namespace {

std::optional<Finding> look(const Situation& run) {
    const double cpu_ns = run.what_if().idle_ns({"input_cpu"});
    const double wait_ns =
        std::max(0.0, run.what_if().idle_ns({"input_wait"}) - contended_ns(run, kInputCauses));
    const double told_ns = run.what_if().idle_ns({"input_loading"});  // of which it is not known
    if (cpu_ns + wait_ns + told_ns <= 0) return {};
    const bool loads_itself = cpu_ns >= wait_ns;
    Finding found;
    found.title = "the GPU waits " + duration_text(cpu_ns + wait_ns + told_ns) + " of a " + run.per() +
                  (told_ns > cpu_ns + wait_ns ? " while the launching thread loads or makes a batch"
                   : loads_itself ? " while the launching thread itself loads the batch on its CPU"
                                  : " while the launching thread waits for a batch from its loaders");
    found.try_it = run.advice({loads_itself ? "input_bound.loads_itself" : "input_bound"});
    // A step that takes much longer for it than is usual does something else (step_gap).
    found.gain =
        run.what_if().shorter([&](const GpuInStep& gpu) { return without_idle(gpu, run.input_ns(gpu)); });
    found.gain = without_contention(run, kInputCauses, found.gain);
    found.confidence = 0.9;
    found.where = run.seen_in(kInputCauses);
    found.evidence = run.gaps_of(kInputCauses);
    return found;
}

constexpr Heading kHeading = {"input-bound", "Waiting for data", "the GPU waits for data",
                              "loading ahead, in more workers"};
const RuleRegistration kRegistration({"input_bound", Scope::kInput, look, kHeading, Programs::training});

}  // namespace

}  // namespace gpushim::analysis::rule_input_bound
