// Operators of the framework compute on the processor while the GPU waits: random numbers, conversions and
// transforms of tensors that lie in the host's memory. Fewer or compiled operators would not help.
#include "host_overhead.h"

namespace gpushim::analysis::rule_cpu_operators {

namespace {

std::optional<Finding> look(const Situation& run) {
    std::optional<Finding> found = waits_while_host_is(
        run, {"operator_cpu"}, "for 1 ms or longer in operators of the framework that call nothing of CUDA");
    if (!found) return {};
    found->try_it = run.advice({"cpu_operators"});
    found->confidence = 0.7;
    return found;
}

constexpr Heading kHeading = {"host-bound", "Operators that compute on the processor",
                              "the GPU waits while operators compute on the processor",
                              "the same on the GPU, or ahead of the step"};
const RuleRegistration kRegistration({"cpu_operators", Scope::kOneGpu, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_cpu_operators
