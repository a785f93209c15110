#include "nvml_library.h"

#include <dlfcn.h>

#include <cstdio>

#include "../calls/resolve.h"

namespace gpushim::shim {

bool NvmlLibrary::open() {
    handle_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) return false;
    if (auto* init = NVML_FUNCTION(*this, nvmlInitWithFlags))
        return init(NVML_INIT_FLAG_NO_GPUS) == NVML_SUCCESS;
    auto* init = NVML_FUNCTION(*this, nvmlInit_v2);
    return init != nullptr && init() == NVML_SUCCESS;
}

void* NvmlLibrary::find(const char* name) const { return dlsym_of_libc()(handle_, name); }

nvmlDevice_t NvmlLibrary::find_device(const Device& device) const {
    nvmlDevice_t found = nullptr;
    if (auto* by_uuid = NVML_FUNCTION(*this, nvmlDeviceGetHandleByUUID); by_uuid != nullptr) {
        // The driver does not say which of the two its sixteen bytes are.
        for (const char* kind : {"GPU", "MIG"}) {
            char uuid[sizeof device.uuid];
            snprintf(uuid, sizeof uuid, "%s%s", kind, device.uuid[0] != '\0' ? device.uuid + 3 : "");
            if (by_uuid(uuid, &found) == NVML_SUCCESS) return found;
        }
    }
    auto* by_address = NVML_FUNCTION(*this, nvmlDeviceGetHandleByPciBusId_v2);
    if (by_address == nullptr || device.pci[0] == '\0') return nullptr;
    return by_address(device.pci, &found) == NVML_SUCCESS ? found : nullptr;
}

}  // namespace gpushim::shim
