// The GPU waits while the host allocates or frees memory in steps.
#include "../advice/rule.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_allocations {

namespace {

std::optional<Finding> look(const Situation& run) {
    Finding found;
    static constexpr Causes kAllocations = {"alloc_or_load"};
    // Steps that load code are another rule's.
    found.gain = run.what_if().shorter([](const GpuInStep& gpu) {
        const double ns = gpu.loads_code ? 0 : gpu.idle_ns(kAllocations);
        return without_idle(gpu, ns);
    });
    if (found.gain.high_ns <= 0) return {};
    found.title = "the GPU is idle " + duration_text(found.gain.high_ns) + " of a " + run.per() +
                  " while the host allocates or frees memory";
    found.try_it = run.advice({"allocations"});
    found.confidence = 0.8;
    found.evidence = run.gaps_of(kAllocations);
    return found;
}

constexpr Heading kHeading = {"allocation-bound", "Memory allocated in each step",
                              "the GPU waits while memory is allocated or freed", "buffers that are kept"};
const RuleRegistration kRegistration({"allocations", Scope::kOneGpu, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_allocations
