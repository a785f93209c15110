// Operators of the framework compute on the processor while the GPU waits: random numbers, conversions and
// transforms of tensors that lie in the host's memory. Fewer or compiled operators would not help.
#include "../advice/rule.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_cpu_operators {

namespace {

constexpr Causes kCauses = {"operator_cpu"};

std::optional<Finding> look(const Situation& run) {
    const double idle_ns = run.what_if().idle_ns(kCauses);
    if (idle_ns <= 0) return {};
    Finding found;
    found.title = "the GPU waits " + duration_text(idle_ns) + " of a " + run.per() +
                  " while the host is for 1 ms or longer in operators of the framework that call nothing of "
                  "CUDA";
    found.try_it = run.advice({"cpu_operators"});
    found.gain = run.what_if().without(kCauses, WhatIf::Left::kKernelGap);
    found.confidence = 0.7;
    found.where = run.seen_in(kCauses);
    found.evidence = run.gaps_of(kCauses);
    return found;
}

constexpr Heading kHeading = {"host-bound", "Operators that compute on the processor",
                              "the GPU waits while operators compute on the processor",
                              "the same on the GPU, or ahead of the step"};
const RuleRegistration kRegistration({"cpu_operators", Scope::kOneGpu, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_cpu_operators
