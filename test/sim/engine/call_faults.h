// Calls that are told to fail: GPUSIM_FAIL=<export>:<nth>:<error>[,…]. The libraries of the box ask once per
// export.
#pragma once

#include <cstdint>
#include <string_view>

namespace gpusim {

struct InjectedFault {
    uint64_t nth = 0;  // 0: never
    int error = 0;
    bool due(uint64_t entered) const { return nth != 0 && entered == nth; }
};

InjectedFault injected_fault(std::string_view export_name);

}  // namespace gpusim
