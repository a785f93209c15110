// Temperatures, which follow how busy the device is.
#include <optional>

#include "condition.h"
#include "device.h"
#include "values.h"

using namespace gpusim;
using namespace gpusim::nvml;

namespace {

std::optional<unsigned> threshold_c(nvmlTemperatureThresholds_t type) {
    if (type == NVML_TEMPERATURE_THRESHOLD_SHUTDOWN) return values::kShutdownC;
    if (type == NVML_TEMPERATURE_THRESHOLD_SLOWDOWN) return values::kSlowdownC;
    if (type == NVML_TEMPERATURE_THRESHOLD_MEM_MAX) return values::kMemoryMaxC;
    if (type == NVML_TEMPERATURE_THRESHOLD_GPU_MAX) return values::kGpuMaxC;
    return std::nullopt;
}

}  // namespace

IMPLEMENT(nvmlDeviceGetTemperature)(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned* celsius) {
    if (sensor != NVML_TEMPERATURE_GPU) return NVML_ERROR_INVALID_ARGUMENT;
    return answer(device, celsius, [](int i) { return condition(i).gpu_c; });
}

IMPLEMENT(nvmlDeviceGetTemperatureV)(nvmlDevice_t device, nvmlTemperature_t* temperature) {
    if (temperature != nullptr && temperature->sensorType != NVML_TEMPERATURE_GPU)
        return NVML_ERROR_INVALID_ARGUMENT;
    return answer_version(device, temperature, nvmlTemperature_v1, [](int i, nvmlTemperature_t& out) {
        out.temperature = static_cast<int>(condition(i).gpu_c);
    });
}

IMPLEMENT(nvmlDeviceGetTemperatureThreshold)
(nvmlDevice_t device, nvmlTemperatureThresholds_t type, unsigned* celsius) {
    if (index_of(device) < 0 || celsius == nullptr || type >= NVML_TEMPERATURE_THRESHOLD_COUNT)
        return NVML_ERROR_INVALID_ARGUMENT;
    const auto value = threshold_c(type);
    if (!value) return NVML_ERROR_NOT_SUPPORTED;
    *celsius = *value;
    return NVML_SUCCESS;
}
