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
IMPLEMENT(nvmlDeviceGetApplicationsClock)(nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz) {
    return sim_nvmlDeviceGetMaxClockInfo(device, type, mhz);
}
IMPLEMENT(nvmlDeviceGetDefaultApplicationsClock)(nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz) {
    return sim_nvmlDeviceGetMaxClockInfo(device, type, mhz);
}
IMPLEMENT(nvmlDeviceGetMaxCustomerBoostClock)(nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz) {
    return sim_nvmlDeviceGetMaxClockInfo(device, type, mhz);
}

IMPLEMENT(nvmlDeviceGetClock)
(nvmlDevice_t device, nvmlClockType_t type, nvmlClockId_t id, unsigned* mhz) {
    if (id >= NVML_CLOCK_ID_COUNT) return NVML_ERROR_INVALID_ARGUMENT;
    return id == NVML_CLOCK_ID_CURRENT ? sim_nvmlDeviceGetClockInfo(device, type, mhz)
                                       : sim_nvmlDeviceGetMaxClockInfo(device, type, mhz);
}

IMPLEMENT(nvmlDeviceGetSupportedMemoryClocks)(nvmlDevice_t device, unsigned* count, unsigned* mhz) {
    if (index_of(device) < 0) return NVML_ERROR_INVALID_ARGUMENT;
    return answer_list(count, mhz, 1, [](unsigned) -> unsigned { return facts::kMemoryClockMhz; });
}

IMPLEMENT(nvmlDeviceGetSupportedGraphicsClocks)
(nvmlDevice_t device, unsigned memory_mhz, unsigned* count, unsigned* mhz) {
    constexpr unsigned kStepMhz = 15;
    constexpr unsigned kSteps = (facts::kSmClockMhz - values::kIdleSmMhz) / kStepMhz + 1;
    if (index_of(device) < 0) return NVML_ERROR_INVALID_ARGUMENT;
    if (memory_mhz != facts::kMemoryClockMhz) return NVML_ERROR_NOT_FOUND;
    return answer_list(count, mhz, kSteps, [](unsigned i) { return facts::kSmClockMhz - i * kStepMhz; });
}

IMPLEMENT(nvmlDeviceGetMinMaxClockOfPState)
(nvmlDevice_t device, nvmlClockType_t type, nvmlPstates_t state, unsigned* least, unsigned* most) {
    if (least == nullptr || state != NVML_PSTATE_0) return NVML_ERROR_INVALID_ARGUMENT;
    const nvmlReturn_t result = sim_nvmlDeviceGetMaxClockInfo(device, type, most);
    if (result == NVML_SUCCESS) *least = type <= NVML_CLOCK_SM ? values::kIdleSmMhz : highest(type);
    return result;
}

IMPLEMENT(nvmlDeviceGetSupportedPerformanceStates)
(nvmlDevice_t device, nvmlPstates_t* states, unsigned size_bytes) {
    if (index_of(device) < 0 || states == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (size_bytes < sizeof *states) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < size_bytes / sizeof *states; ++i)
        states[i] = i == 0 ? NVML_PSTATE_0 : NVML_PSTATE_UNKNOWN;
    return NVML_SUCCESS;
}

IMPLEMENT(nvmlDeviceGetAutoBoostedClocksEnabled)
(nvmlDevice_t device, nvmlEnableState_t* enabled, nvmlEnableState_t* by_default) {
    if (by_default != nullptr) *by_default = NVML_FEATURE_DISABLED;
    return answer(device, enabled, [](int) { return NVML_FEATURE_DISABLED; });
}

IMPLEMENT(nvmlDeviceGetPowerManagementLimitConstraints)
(nvmlDevice_t device, unsigned* least_mw, unsigned* most_mw) {
    if (index_of(device) < 0 || least_mw == nullptr || most_mw == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *least_mw = values::kPowerLimitMinMw;
    *most_mw = values::kPowerLimitMw;
    return NVML_SUCCESS;
}
