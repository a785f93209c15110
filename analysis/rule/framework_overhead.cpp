// The GPU waits while the framework dispatches operators: between two launches the host is in its code.
#include "host_overhead.h"

namespace gpushim::analysis::rule_framework_overhead {

namespace {

constexpr HostOverhead kIs = {
    "framework_overhead", {"framework", "optimizer"}, "in operators of the framework, between"};

std::optional<Finding> look(const Situation& run) { return host_overhead(run, kIs); }

constexpr Heading kHeading = {"host-bound", "Operators of the framework",
                              "the GPU waits while operators are dispatched", "CUDA graphs or a compiler"};
const RuleRegistration kRegistration({"framework_overhead", Scope::kOneGpu, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_framework_overhead
