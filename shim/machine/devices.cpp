#include "devices.h"

#include <fcntl.h>
#include <nccl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "../calls/driver_api.h"
#include "../calls/resolve.h"
#include "../calls/unanswered.h"

namespace gpushim::shim {
namespace {

template <class Function>
Function* driver(const char* name) {
    return reinterpret_cast<Function*>(driver_function(name));
}

void describe_uuid(CUdevice device, Device& to) {
    auto* get = driver<decltype(cuDeviceGetUuid_v2)>("cuDeviceGetUuid_v2");
    if (get == nullptr) get = driver<decltype(cuDeviceGetUuid_v2)>("cuDeviceGetUuid");
    CUuuid uuid;
    if (!answers(Question::cuDeviceGetUuid, get, &uuid, device)) return;
    size_t at = static_cast<size_t>(snprintf(to.uuid, sizeof to.uuid, "GPU"));
    for (size_t i = 0; i < sizeof uuid.bytes; ++i) {
        const bool starts_group = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
        at += static_cast<size_t>(
            snprintf(to.uuid + at, sizeof to.uuid - at, starts_group ? "-%02x" : "%02x", byte));
    }
}

// 0 where the driver does not say.
int32_t attribute(CUdevice_attribute which, CUdevice device) {
    auto* get = driver<decltype(cuDeviceGetAttribute)>("cuDeviceGetAttribute");
    int value = 0;
    return answers(Question::cuDeviceGetAttribute, get, &value, which, device) ? value : 0;
}

void describe(CUdevice device, Device& to) {
    to = {};
    to.ordinal = device;
    describe_uuid(device, to);
    answers(Question::cuDeviceGetName, driver<decltype(cuDeviceGetName)>("cuDeviceGetName"), to.name,
            static_cast<int>(sizeof to.name), device);
    size_t bytes = 0;
    auto* total = driver<decltype(cuDeviceTotalMem_v2)>("cuDeviceTotalMem_v2");
    if (answers(Question::cuDeviceTotalMem, total, &bytes, device)) to.memory_bytes = bytes;
    answers(Question::cuDeviceGetPCIBusId, driver<decltype(cuDeviceGetPCIBusId)>("cuDeviceGetPCIBusId"),
            to.pci, static_cast<int>(sizeof to.pci), device);
    to.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    to.compute_major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    to.compute_minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
}

// The kernel's part, in the line "NVRM version: …": its first word that is only digits and dots.
void read_driver_version(char* to, size_t size) {
    char text[512];
    const int file = open("/proc/driver/nvidia/version", O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0) close(file);
    text[length > 0 ? length : 0] = '\0';
    for (const char* word = text; *word != '\0' && *word != '\n'; word += strcspn(word, " \n")) {
        word += strspn(word, " ");
        const size_t digits = strspn(word, "0123456789.");
        if (digits < 3 || digits >= size || strcspn(word, " \n") != digits) continue;
        memcpy(to, word, digits);
        to[digits] = '\0';
        return;
    }
}

}  // namespace

void describe_versions(TraceIdentity& identity) {
    int version = 0;
    auto* of_driver = driver<decltype(cuDriverGetVersion)>("cuDriverGetVersion");
    if (answers(Question::cuDriverGetVersion, of_driver, &version)) identity.cuda_version = version;
    auto* of_nccl = reinterpret_cast<decltype(ncclGetVersion)*>(nccl_function("ncclGetVersion"));
    if (of_nccl != nullptr && of_nccl(&version) == ncclSuccess) identity.nccl_version = version;
    read_driver_version(identity.driver_version, sizeof identity.driver_version);
}

size_t describe_devices(std::span<Device> to) {
    auto* count_devices = driver<decltype(cuDeviceGetCount)>("cuDeviceGetCount");
    int count = 0;
    if (!answers(Question::cuDeviceGetCount, count_devices, &count) || count < 0) return 0;
    const size_t described = static_cast<size_t>(count) < to.size() ? static_cast<size_t>(count) : to.size();
    for (size_t i = 0; i < described; ++i) describe(static_cast<CUdevice>(i), to[i]);
    return described;
}

}  // namespace gpushim::shim
