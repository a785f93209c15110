// What tests of the box's NVML begin with: NVML(call) stops the case when the call fails; handles; one field.
#pragma once

#include <nvml.h>

#include <catch2/catch.hpp>

#define NVML(call) REQUIRE((call) == NVML_SUCCESS)

inline nvmlDevice_t device_at(unsigned index) {
    nvmlDevice_t device = nullptr;
    NVML(nvmlDeviceGetHandleByIndex(index, &device));
    return device;
}

inline nvmlDevice_t first_device() {
    NVML(nvmlInit());
    return device_at(0);
}

inline nvmlFieldValue_t field(nvmlDevice_t device, unsigned id, unsigned scope = 0) {
    nvmlFieldValue_t value{};
    value.fieldId = id;
    value.scopeId = scope;
    NVML(nvmlDeviceGetFieldValues(device, 1, &value));
    return value;
}
