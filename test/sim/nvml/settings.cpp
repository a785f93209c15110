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

IMPLEMENT(nvmlDeviceGetMigDeviceHandleByIndex)(nvmlDevice_t device, unsigned, nvmlDevice_t* out) {
    if (index_of(device) < 0 || out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    return NVML_ERROR_NOT_FOUND;
}

IMPLEMENT(nvmlDeviceGetEccMode)
(nvmlDevice_t device, nvmlEnableState_t* present, nvmlEnableState_t* pending) {
    return present_and_pending(device, present, pending, NVML_FEATURE_ENABLED);
}

IMPLEMENT(nvmlDeviceGetGspFirmwareMode)(nvmlDevice_t device, unsigned* enabled, unsigned* by_default) {
    return present_and_pending<unsigned>(device, enabled, by_default, 1);
}

IMPLEMENT(nvmlDeviceGetGspFirmwareVersion)(nvmlDevice_t device, char* version) {
    if (index_of(device) < 0 || version == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    std::strcpy(version, values::kDriverVersion);
    return NVML_SUCCESS;
}

IMPLEMENT(nvmlDeviceGetNumFans)(nvmlDevice_t device, unsigned* count) {
    return answer(device, count, [](int) { return 1; });
}
IMPLEMENT(nvmlDeviceGetFanSpeed)(nvmlDevice_t device, unsigned* percent) { return fan(device, 0, percent); }
IMPLEMENT(nvmlDeviceGetFanSpeed_v2)(nvmlDevice_t device, unsigned number, unsigned* percent) {
    return fan(device, number, percent);
}

// No fabric manager is there to register with.
IMPLEMENT(nvmlDeviceGetGpuFabricInfo)(nvmlDevice_t device, nvmlGpuFabricInfo_t* info) {
    return answer(device, info, [](int) {
        nvmlGpuFabricInfo_t none{};
        none.state = NVML_GPU_FABRIC_STATE_NOT_SUPPORTED;
        return none;
    });
}

IMPLEMENT(nvmlDeviceGetGpuFabricInfoV)(nvmlDevice_t device, nvmlGpuFabricInfoV_t* info) {
    if (index_of(device) < 0 || info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const unsigned version = info->version;
    if (version != nvmlGpuFabricInfo_v2 && version != nvmlGpuFabricInfo_v3)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    std::memset(info, 0, version & 0xffffffU);  // the version holds the structure's size
    info->version = version;
    return NVML_SUCCESS;
}

IMPLEMENT(nvmlDeviceGetC2cModeInfoV)(nvmlDevice_t device, nvmlC2cModeInfo_v1_t* info) {
    return answer(device, info, [](int) { return nvmlC2cModeInfo_v1_t{}; });
}
