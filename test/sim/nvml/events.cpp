// Event sets: they can be made, registered with and waited for; nothing ever happens to the box's devices, so
// each wait ends by its time.
#include <time.h>

#include <mutex>
#include <set>

#include "device.h"

using namespace gpusim::nvml;

struct nvmlEventSet_st {
    char nothing;
};

namespace {

constexpr unsigned long long kSupported = nvmlEventTypeXidCriticalError | nvmlEventTypeDoubleBitEccError;

struct Sets {
    std::mutex mutex;
    std::set<nvmlEventSet_t> all;
};

Sets& sets() {
    static Sets* const made = new Sets;  // used until the last instruction of the process
    return *made;
}

bool is_set(nvmlEventSet_t set) {
    const std::lock_guard guard(sets().mutex);
    return sets().all.count(set) == 1;
}

}  // namespace

IMPLEMENT(nvmlEventSetCreate)(nvmlEventSet_t* set) {
    if (set == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *set = new nvmlEventSet_st;
    const std::lock_guard guard(sets().mutex);
    sets().all.insert(*set);
    return NVML_SUCCESS;
}

IMPLEMENT(nvmlEventSetFree)(nvmlEventSet_t set) {
    const std::lock_guard guard(sets().mutex);
    if (sets().all.erase(set) == 0) return NVML_ERROR_INVALID_ARGUMENT;
    delete set;
    return NVML_SUCCESS;
}

IMPLEMENT(nvmlDeviceRegisterEvents)(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set) {
    if (index_of(device) < 0 || !is_set(set)) return NVML_ERROR_INVALID_ARGUMENT;
    return (types & ~kSupported) == 0 ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

// Real time also under the stepped clock: a thread that watches for events must not move the program's time.
IMPLEMENT(nvmlEventSetWait_v2)(nvmlEventSet_t set, nvmlEventData_t* data, unsigned timeout_ms) {
    if (data == nullptr || !is_set(set)) return NVML_ERROR_INVALID_ARGUMENT;
    timespec left{timeout_ms / 1000, static_cast<long>(timeout_ms % 1000) * 1'000'000};
    while (nanosleep(&left, &left) != 0) {
    }
    return NVML_ERROR_TIMEOUT;
}
IMPLEMENT(nvmlEventSetWait)(nvmlEventSet_t set, nvmlEventData_t* data, unsigned timeout_ms) {
    return sim_nvmlEventSetWait_v2(set, data, timeout_ms);
}
