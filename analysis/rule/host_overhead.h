// The GPU waits for a host that is between two launches, in what launches need: two rules of one shape. One
// thread.
#pragma once

#include <optional>

#include "../advice/rule.h"

namespace gpushim::analysis {

struct HostOverhead {
    const char* id;     // of the rule, and of its advice
    Causes causes;      // of the idle time
    const char* where;  // the host is: "in operators of the framework, between", and then how many launches
};

std::optional<Finding> host_overhead(const Situation& run, const HostOverhead& is);

}  // namespace gpushim::analysis
