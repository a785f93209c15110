// What a device is set up to do, where that is two values (present and pending) or a structure. Nothing can
// be changed: functions that would are not supported.
#include <cstring>

#include "device.h"
#include "values.h"

using namespace gpusim::nvml;

namespace {

template <class State>
nvmlReturn_t present_and_pending(nvmlDevice_t device, State* present, State* pending, State state) {
    if (index_of(device) < 0 || present == nullptr || pending == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *present = *pending = state;
    return NVML_SUCCESS;
}

nvmlReturn_t fan(nvmlDevice_t device, unsigned number, unsigned* percent) {
    constexpr unsigned kPercent = 30;
    if (number != 0) return NVML_ERROR_INVALID_ARGUMENT;
    return answer(device, percent, [](int) { return kPercent; });
}

}  // namespace

IMPLEMENT(nvmlDeviceGetMigMode)(nvmlDevice_t device, unsigned* present, unsigned* pending) {
    return present_and_pending<unsigned>(device, present, pending, NVML_DEVICE_MIG_DISABLE);
}

IMPLEMENT(nvmlDeviceGetEccMode)
(nvmlDevice_t device, nvmlEnableState_t* present, nvmlEnableState_t* pending) {
    return present_and_pending(device, present, pending, NVML_FEATURE_ENABLED);
}

IMPLEMENT(nvmlDeviceGetNumFans)(nvmlDevice_t device, unsigned* count) {
    return answer(device, count, [](int) { return 1; });
}
IMPLEMENT(nvmlDeviceGetFanSpeed)(nvmlDevice_t device, unsigned* percent) { return fan(device, 0, percent); }
IMPLEMENT(nvmlDeviceGetGpuFabricInfoV)(nvmlDevice_t device, nvmlGpuFabricInfoV_t* info) {
    if (index_of(device) < 0 || info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const unsigned version = info->version;
    if (version != nvmlGpuFabricInfo_v2 && version != nvmlGpuFabricInfo_v3)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    std::memset(info, 0, version & 0xffffffU);  // the version holds the structure's size
    info->version = version;
    return NVML_SUCCESS;
}
