// The GPU waits while the host is on its way from one operator to the next: Python, for most programs.
#include "host_overhead.h"

namespace gpushim::analysis::rule_python_overhead {

namespace {

constexpr HostOverhead kIs = {
    "python_overhead", {"python"}, "between operators, in Python or other code of the program, for"};

std::optional<Finding> look(const Situation& run) { return host_overhead(run, kIs); }

const RuleRegistration kRegistration({"python_overhead", Scope::kOneGpu, look});

}  // namespace

}  // namespace gpushim::analysis::rule_python_overhead
