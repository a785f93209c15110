// Devices and the driver itself: start, version, names, attributes. What a device is, is data: device_facts.h
// and attributes.def.
#include <cstdio>
#include <cstring>
#include <optional>

#include "engine/device_facts.h"
#include "engine/knobs.h"
#include "entry.h"
#include "objects.h"

namespace gpusim::driver {
namespace {

std::vector<Device>& all_devices() {
    static auto* const made = [] {
        auto* list = new std::vector<Device>(static_cast<size_t>(knobs().devices));
        for (size_t i = 0; i < list->size(); ++i) {
            (*list)[i].ordinal = static_cast<int>(i);
            (*list)[i].arena = std::make_unique<Arena>(static_cast<size_t>(device_memory_bytes()));
        }
        return list;
    }();
    return *made;
}

}  // namespace

Device* device(CUdevice ordinal) {
    return ordinal >= 0 && ordinal < device_count() ? &all_devices()[static_cast<size_t>(ordinal)] : nullptr;
}

int device_count() { return static_cast<int>(knobs().devices); }

}  // namespace gpusim::driver

using namespace gpusim;
using namespace gpusim::driver;

namespace {

// -1: the box has nothing to say about this one.
int attribute_value(CUdevice_attribute attribute, int ordinal) {
    [[maybe_unused]] const PciAddress pci = device_pci(ordinal);
    switch (attribute) {
#define ATTRIBUTE(name, value)       \
    case CU_DEVICE_ATTRIBUTE_##name: \
        return static_cast<int>(value);
#include "attributes.def"
#undef ATTRIBUTE
        default:
            return -1;
    }
}

template <class Answer>
CUresult about(CUdevice ordinal, const void* result, Answer answer) {
    if (result == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Device* found = device(ordinal);
    return found != nullptr ? answer(*found) : CUDA_ERROR_INVALID_DEVICE;
}

// [domain:]bus:device[.function], hexadecimal.
std::optional<PciAddress> pci_address(const char* text) {
    unsigned domain = 0, bus = 0, on_bus = 0;
    if (std::sscanf(text, "%x:%x:%x", &domain, &bus, &on_bus) != 3) {
        domain = 0;
        if (std::sscanf(text, "%x:%x", &bus, &on_bus) != 2) return std::nullopt;
    }
    return PciAddress{static_cast<int>(domain), static_cast<int>(bus), static_cast<int>(on_bus)};
}

CUresult copy_text(char* target, int length, const std::string& text) {
    if (length <= 0) return CUDA_ERROR_INVALID_VALUE;
    std::strncpy(target, text.c_str(), static_cast<size_t>(length) - 1);
    target[length - 1] = '\0';
    return CUDA_SUCCESS;
}

}  // namespace

API(cuInit)(unsigned flags) {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (knobs().devices == 0) return CUDA_ERROR_NO_DEVICE;
    life::initialize();
    return CUDA_SUCCESS;
}

API(cuDriverGetVersion)(int* version) {
    if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *version = static_cast<int>(knobs().version);
    return CUDA_SUCCESS;
}

API(cuDeviceGetCount)(int* count) {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = device_count();
    return CUDA_SUCCESS;
}

API(cuDeviceGet)(CUdevice* result, int ordinal) {
    return about(ordinal, result, [=](Device&) {
        *result = ordinal;
        return CUDA_SUCCESS;
    });
}

API(cuDeviceGetName)(char* name, int length, CUdevice ordinal) {
    return about(ordinal, name, [=](Device&) { return copy_text(name, length, device_name()); });
}

API(cuDeviceGetUuid_v2)(CUuuid* uuid, CUdevice ordinal) {
    return about(ordinal, uuid, [=](Device&) {
        const auto bytes = device_uuid(ordinal);
        std::memcpy(uuid->bytes, bytes.data(), bytes.size());
        return CUDA_SUCCESS;
    });
}
API(cuDeviceGetUuid)(CUuuid* uuid, CUdevice ordinal) { return sim_cuDeviceGetUuid_v2(uuid, ordinal); }

API(cuDeviceTotalMem_v2)(size_t* bytes, CUdevice ordinal) {
    return about(ordinal, bytes, [=](Device&) {
        *bytes = static_cast<size_t>(device_memory_bytes());
        return CUDA_SUCCESS;
    });
}
API(cuDeviceTotalMem)(unsigned* bytes, CUdevice ordinal) {
    return about(ordinal, bytes, [=](Device&) {
        *bytes = static_cast<unsigned>(std::min<int64_t>(device_memory_bytes(), UINT32_MAX));
        return CUDA_SUCCESS;
    });
}

API(cuDeviceGetAttribute)(int* value, CUdevice_attribute attribute, CUdevice ordinal) {
    return about(ordinal, value, [=](Device&) {
        const int found = attribute_value(attribute, ordinal);
        if (found < 0 && (attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX))
            return CUDA_ERROR_INVALID_VALUE;
        *value = found < 0 ? 0 : found;
        return CUDA_SUCCESS;
    });
}

API(cuDeviceComputeCapability)(int* major, int* minor, CUdevice ordinal) {
    return about(ordinal, minor == nullptr ? nullptr : major, [=](Device&) {
        *major = facts::kComputeMajor;
        *minor = facts::kComputeMinor;
        return CUDA_SUCCESS;
    });
}

API(cuDeviceGetProperties)(CUdevprop* properties, CUdevice ordinal) {
    return about(ordinal, properties, [=](Device&) {
        *properties = {};
        properties->maxThreadsPerBlock = attribute_value(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, ordinal);
        properties->sharedMemPerBlock =
            attribute_value(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, ordinal);
        properties->totalConstantMemory = attribute_value(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, ordinal);
        properties->SIMDWidth = attribute_value(CU_DEVICE_ATTRIBUTE_WARP_SIZE, ordinal);
        properties->memPitch = attribute_value(CU_DEVICE_ATTRIBUTE_MAX_PITCH, ordinal);
        properties->regsPerBlock = attribute_value(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, ordinal);
        properties->clockRate = attribute_value(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, ordinal);
        properties->textureAlign = attribute_value(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, ordinal);
        return CUDA_SUCCESS;
    });
}

API(cuDeviceGetPCIBusId)(char* text, int length, CUdevice ordinal) {
    return about(ordinal, text, [=](Device&) { return copy_text(text, length, device_pci_text(ordinal)); });
}

API(cuDeviceGetByPCIBusId)(CUdevice* result, const char* text) {
    if (result == nullptr || text == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto wanted = pci_address(text);
    if (!wanted) return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < device_count(); ++i) {
        const PciAddress at = device_pci(i);
        if (at.domain != wanted->domain || at.bus != wanted->bus || at.device != wanted->device) continue;
        *result = i;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_DEVICE;
}

API(cuProfilerInitialize)(const char*, const char*, CUoutput_mode) { return CUDA_ERROR_PROFILER_DISABLED; }
API(cuProfilerStart)() {
    const auto held = engine::lock();
    return current_context() != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
API(cuProfilerStop)() { return sim_cuProfilerStart(); }
