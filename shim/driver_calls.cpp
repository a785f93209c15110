#include "driver_calls.h"

#include "hooks/resolve.h"

namespace gpushim::shim {
namespace {

bool find_all(DriverCalls& calls) {
    bool all = true;
#define GPUSHIM_FIND(name)                                                    \
    calls.name = reinterpret_cast<decltype(&::name)>(driver_function(#name)); \
    all = all && calls.name != nullptr;
    GPUSHIM_DRIVER_CALLS(GPUSHIM_FIND)
#undef GPUSHIM_FIND
    return all;
}

}  // namespace

const DriverCalls* driver_calls() {
    static DriverCalls calls = {};
    static const bool complete = find_all(calls);
    return complete ? &calls : nullptr;
}

}  // namespace gpushim::shim
