#include "reliability.h"

#include "device.h"
#include "engine/box_state.h"
#include "engine/knobs.h"

using namespace gpusim;
using namespace gpusim::nvml;

namespace {

constexpr int64_t kPowerReasons =
    nvmlClocksEventReasonSwPowerCap | nvmlClocksThrottleReasonHwPowerBrakeSlowdown;
constexpr int64_t kThermalReasons =
    nvmlClocksEventReasonSwThermalSlowdown | nvmlClocksThrottleReasonHwThermalSlowdown;

}  // namespace

unsigned long long gpusim::nvml::violation_ns(int device, nvmlPerfPolicyType_t policy) {
    const int64_t reasons = policy == NVML_PERF_POLICY_POWER     ? kPowerReasons
                            : policy == NVML_PERF_POLICY_THERMAL ? kThermalReasons
                                                                 : 0;
    if ((knobs().throttle & reasons) == 0) return 0;
    return static_cast<unsigned long long>(box::busy_ns(device, Engine::compute));
}

IMPLEMENT(nvmlDeviceGetViolationStatus)
(nvmlDevice_t device, nvmlPerfPolicyType_t policy, nvmlViolationTime_t* time) {
    if (policy >= NVML_PERF_POLICY_COUNT) return NVML_ERROR_INVALID_ARGUMENT;
    return answer(device, time, [policy](int i) {
        return nvmlViolationTime_t{calendar_us(box_now()), violation_ns(i, policy)};
    });
}

IMPLEMENT(nvmlDeviceGetTotalEccErrors)
(nvmlDevice_t device, nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter, unsigned long long* errors) {
    if (type >= NVML_MEMORY_ERROR_TYPE_COUNT || counter >= NVML_ECC_COUNTER_TYPE_COUNT)
        return NVML_ERROR_INVALID_ARGUMENT;
    return answer(device, errors, [](int) { return 0; });
}

IMPLEMENT(nvmlDeviceGetRetiredPages)
(nvmlDevice_t device, nvmlPageRetirementCause_t cause, unsigned* count, unsigned long long*) {
    if (cause >= NVML_PAGE_RETIREMENT_CAUSE_COUNT) return NVML_ERROR_INVALID_ARGUMENT;
    return answer(device, count, [](int) { return 0; });
}
