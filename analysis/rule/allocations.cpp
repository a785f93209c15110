// The GPU waits while the host allocates or frees memory in steps; at a start also while code is loaded.
#include "../advice/rule.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_allocations {

namespace {

constexpr Heading kAtStart = {"start-up", "Memory allocated, or code loaded",
                              "the GPU waits while memory is allocated, code loaded or the device set up",
                              "a warm-up before what is recorded, or buffers that are kept"};

constexpr Heading kAgain = {"allocation-bound", "Memory allocated again and again",
                            "the GPU waits while memory is allocated or freed", "buffers that are kept"};

constexpr Causes kAtStartCauses = {"alloc_or_load", "slow_call"};

std::optional<Finding> look(const Situation& run) {
    Finding found;
    const bool may_be_start = run.may_be_start(kAtStartCauses);
    const Causes causes = may_be_start ? kAtStartCauses : Causes{"alloc_or_load"};
    // Steps that load code are another rule's.
    const auto gain_without = [&](Causes idle) {
        return run.what_if().shorter([&](const GpuInStep& gpu) {
            const double ns = gpu.loads_code ? 0 : gpu.idle_ns(idle);
            return without_idle(gpu, ns);
        });
    };
    found.gain = gain_without(causes);
    if (found.gain.high_ns <= 0) return {};
    found.title = "the GPU is idle " + duration_text(found.gain.high_ns) + " of a " + run.per() +
                  " while the host allocates or frees memory" +
                  (may_be_start ? ", loads code or sets the device up" : "");
    // A library that is loaded with its first launch is one slow call, and no allocator's.
    const bool allocates = gain_without({"alloc_or_load"}).high_ns > found.gain.high_ns / 2;
    found.try_it = !may_be_start ? run.advice({"allocations"})
                   : allocates   ? run.advice({"allocations.start", "allocations"})
                                 : run.advice({"allocations.start"});
    if (may_be_start) found.heading = &kAtStart;
    if (!may_be_start && !run.has_steps()) found.heading = &kAgain;
    found.yields = may_be_start;
    found.confidence = 0.8;
    found.evidence = run.gaps_of(causes);
    return found;
}

constexpr Heading kHeading = {"allocation-bound", "Memory allocated in each step",
                              "the GPU waits while memory is allocated or freed", "buffers that are kept"};
const RuleRegistration kRegistration({"allocations", Scope::kOneGpu, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_allocations
