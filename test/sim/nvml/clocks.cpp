// Clocks and power limits. All states but the highest are unknown to the box's devices.
#include "condition.h"
#include "device.h"
#include "engine/device_facts.h"
#include "values.h"

using namespace gpusim;
using namespace gpusim::nvml;

namespace {

unsigned highest(nvmlClockType_t type) {
    if (type == NVML_CLOCK_MEM) return facts::kMemoryClockMhz;
    return type == NVML_CLOCK_VIDEO ? values::kVideoMhz : facts::kSmClockMhz;
}

unsigned present(nvmlClockType_t type, int device) {
    if (type == NVML_CLOCK_VIDEO) return values::kVideoMhz;
    const Condition c = condition(device);
    return type == NVML_CLOCK_MEM ? c.memory_mhz : c.sm_mhz;
}

// *out = value(device), where `type` is a clock.
template <class Value>
nvmlReturn_t clock_of(nvmlDevice_t device, nvmlClockType_t type, unsigned* out, Value value) {
    return type < NVML_CLOCK_COUNT ? answer(device, out, value) : NVML_ERROR_INVALID_ARGUMENT;
}

}  // namespace

IMPLEMENT(nvmlDeviceGetClockInfo)(nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz) {
    return clock_of(device, type, mhz, [type](int i) { return present(type, i); });
}

IMPLEMENT(nvmlDeviceGetMaxClockInfo)(nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz) {
    return clock_of(device, type, mhz, [type](int) { return highest(type); });
}

IMPLEMENT(nvmlDeviceGetPowerManagementLimitConstraints)
(nvmlDevice_t device, unsigned* least_mw, unsigned* most_mw) {
    if (index_of(device) < 0 || least_mw == nullptr || most_mw == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *least_mw = values::kPowerLimitMinMw;
    *most_mw = values::kPowerLimitMw;
    return NVML_SUCCESS;
}
