// The GPU waits for a host that is in something of its own: rules of one shape. One thread.
#pragma once

#include <optional>
#include <string>

#include "../advice/rule.h"

namespace gpushim::analysis {

// "the GPU waits 2.1 ms of a step while the host is" there: all but what to try. Nothing: it does not wait.
std::optional<Finding> waits_while_host_is(const Situation& run, Causes causes, const std::string& where);

// Nearly all that samples of Python saw of host time was a wait for the interpreter's lock. Such waits are
// shorter than samples are apart, so that of most none was seen: of those in which the host was off its
// processor they may be.
bool is_mostly_the_lock(const Situation& run);

// Between two launches, in what launches need.
struct HostOverhead {
    const char* id;     // of the rule, and of its advice
    Causes causes;      // of the idle time
    const char* where;  // the host is: "in operators of the framework, between", and then how many launches
};

std::optional<Finding> host_overhead(const Situation& run, const HostOverhead& is);

}  // namespace gpushim::analysis
