// Which devices there are, their handles, names, identities and addresses.
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "device.h"
#include "engine/device_facts.h"
#include "values.h"

using namespace gpusim;
using namespace gpusim::nvml;

namespace {

std::string uuid_text(int device) {
    std::string text = "GPU-";
    const auto bytes = device_uuid(device);
    for (size_t i = 0; i < bytes.size(); ++i) {
        char hex[3];
        std::snprintf(hex, sizeof hex, "%02x", bytes[i]);
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += hex;
    }
    return text;
}

std::string serial_text(int device) {
    char text[NVML_DEVICE_SERIAL_BUFFER_SIZE];
    std::snprintf(text, sizeof text, "%013d", device + 1);
    return text;
}

// *out = the first device for which `is` holds.
template <class Is>
nvmlReturn_t find_device(nvmlDevice_t* out, Is is) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    for (int i = 0; i < device_count(); ++i)
        if (is(i)) {
            *out = handle_of(i);
            return NVML_SUCCESS;
        }
    return NVML_ERROR_NOT_FOUND;
}

template <class Text>
nvmlReturn_t text_of(nvmlDevice_t device, char* out, unsigned length, Text text) {
    const int index = index_of(device);
    return index < 0 ? NVML_ERROR_INVALID_ARGUMENT : answer_text(text(index), out, length);
}

bool same_address(int device, unsigned domain, unsigned bus, unsigned slot) {
    const PciAddress at = device_pci(device);
    return static_cast<unsigned>(at.domain) == domain && static_cast<unsigned>(at.bus) == bus &&
           static_cast<unsigned>(at.device) == slot;
}

// Common to all versions of the structure.
template <class Info>
void fill_address(int device, Info& info) {
    const PciAddress at = device_pci(device);
    info.domain = static_cast<unsigned>(at.domain);
    info.bus = static_cast<unsigned>(at.bus);
    info.device = static_cast<unsigned>(at.device);
    info.pciDeviceId = facts::kPciDeviceId;
    info.pciSubSystemId = facts::kPciSubsystemId;
    std::snprintf(info.busId, sizeof info.busId, NVML_DEVICE_PCI_BUS_ID_FMT,
                  NVML_DEVICE_PCI_BUS_ID_FMT_ARGS(&info));
}

nvmlPciInfo_t pci_info(int device) {
    nvmlPciInfo_t info{};
    fill_address(device, info);
    std::snprintf(info.busIdLegacy, sizeof info.busIdLegacy, NVML_DEVICE_PCI_BUS_ID_LEGACY_FMT,
                  NVML_DEVICE_PCI_BUS_ID_FMT_ARGS(&info));
    return info;
}

}  // namespace

IMPLEMENT(nvmlDeviceGetCount_v2)(unsigned* count) {
    if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *count = static_cast<unsigned>(device_count());
    return NVML_SUCCESS;
}
IMPLEMENT(nvmlDeviceGetCount)(unsigned* count) { return sim_nvmlDeviceGetCount_v2(count); }

IMPLEMENT(nvmlDeviceGetHandleByIndex_v2)(unsigned index, nvmlDevice_t* device) {
    if (device == nullptr || index >= static_cast<unsigned>(device_count()))
        return NVML_ERROR_INVALID_ARGUMENT;
    *device = handle_of(static_cast<int>(index));
    return NVML_SUCCESS;
}
IMPLEMENT(nvmlDeviceGetHandleByIndex)(unsigned index, nvmlDevice_t* device) {
    return sim_nvmlDeviceGetHandleByIndex_v2(index, device);
}

IMPLEMENT(nvmlDeviceGetHandleByUUID)(const char* uuid, nvmlDevice_t* device) {
    if (uuid == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    return find_device(device, [&](int i) { return uuid_text(i) == uuid; });
}

IMPLEMENT(nvmlDeviceGetHandleByUUIDV)(const nvmlUUID_t* uuid, nvmlDevice_t* device) {
    if (uuid == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (uuid->version != nvmlUUID_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (uuid->type == NVML_UUID_TYPE_ASCII) return sim_nvmlDeviceGetHandleByUUID(uuid->value.str, device);
    if (uuid->type != NVML_UUID_TYPE_BINARY) return NVML_ERROR_INVALID_ARGUMENT;
    return find_device(device,
                       [&](int i) { return std::memcmp(device_uuid(i).data(), uuid->value.bytes, 16) == 0; });
}

IMPLEMENT(nvmlDeviceGetHandleBySerial)(const char* serial, nvmlDevice_t* device) {
    if (serial == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    return find_device(device, [&](int i) { return serial_text(i) == serial; });
}

IMPLEMENT(nvmlDeviceGetHandleByPciBusId_v2)(const char* text, nvmlDevice_t* device) {
    unsigned domain = 0, bus = 0, slot = 0;
    if (text == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (std::sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3) {
        domain = 0;
        if (std::sscanf(text, "%x:%x", &bus, &slot) != 2) return NVML_ERROR_INVALID_ARGUMENT;
    }
    return find_device(device, [&](int i) { return same_address(i, domain, bus, slot); });
}
IMPLEMENT(nvmlDeviceGetHandleByPciBusId)(const char* text, nvmlDevice_t* device) {
    return sim_nvmlDeviceGetHandleByPciBusId_v2(text, device);
}

IMPLEMENT(nvmlDeviceGetName)(nvmlDevice_t device, char* name, unsigned length) {
    return text_of(device, name, length, [](int) { return device_name(); });
}
IMPLEMENT(nvmlDeviceGetUUID)(nvmlDevice_t device, char* uuid, unsigned length) {
    return text_of(device, uuid, length, uuid_text);
}
IMPLEMENT(nvmlDeviceGetSerial)(nvmlDevice_t device, char* serial, unsigned length) {
    return text_of(device, serial, length, serial_text);
}
IMPLEMENT(nvmlDeviceGetPciInfo_v3)(nvmlDevice_t device, nvmlPciInfo_t* info) {
    return answer(device, info, pci_info);
}

// In the first two versions the structure is shorter: it ends where `busId` begins.
IMPLEMENT(nvmlDeviceGetPciInfo_v2)(nvmlDevice_t device, nvmlPciInfo_t* info) {
    nvmlPciInfo_t whole;
    if (info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const nvmlReturn_t result = answer(device, &whole, pci_info);
    if (result == NVML_SUCCESS) std::memcpy(info, &whole, offsetof(nvmlPciInfo_t, busId));
    return result;
}
IMPLEMENT(nvmlDeviceGetPciInfo)(nvmlDevice_t device, nvmlPciInfo_t* info) {
    return sim_nvmlDeviceGetPciInfo_v2(device, info);
}

IMPLEMENT(nvmlDeviceGetCudaComputeCapability)(nvmlDevice_t device, int* major, int* minor) {
    if (index_of(device) < 0 || major == nullptr || minor == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *major = facts::kComputeMajor;
    *minor = facts::kComputeMinor;
    return NVML_SUCCESS;
}
