#include "driver_calls.h"

#include "../calls/resolve.h"

namespace gpushim::shim {
namespace {

struct Found {
    DriverCalls calls = {};
    const char* missing = nullptr;

    Found() {
#define GPUSHIM_FIND(name)                                                    \
    calls.name = reinterpret_cast<decltype(&::name)>(driver_function(#name)); \
    if (missing == nullptr && calls.name == nullptr) missing = #name;
        GPUSHIM_DRIVER_CALLS(GPUSHIM_FIND)
#undef GPUSHIM_FIND
    }
};

const Found& found() {
    static const Found all;
    return all;
}

}  // namespace

const DriverCalls* driver_calls() { return found().missing == nullptr ? &found().calls : nullptr; }
const char* missing_driver_call() { return found().missing; }

}  // namespace gpushim::shim
