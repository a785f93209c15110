// Calls that are told to fail: GPUSIM_FAIL=<export>:<nth>:<error>[,…], where `each` in place of a number
// means all of them. The libraries of the box ask once per export.
#pragma once

#include <cstdint>
#include <string_view>

namespace gpusim {

struct InjectedFault {
    uint64_t nth = 0;  // 0: never
    int error = 0;
    bool each = false;
    bool due(uint64_t entered) const { return each || (nth != 0 && entered == nth); }
};

InjectedFault injected_fault(std::string_view export_name);

}  // namespace gpusim
