// What NVML says of the box that neither the box's timeline nor a knob decides. Simple answers that are one
// expression per function are rows of values.def instead.
#pragma once

namespace gpusim::nvml::values {

constexpr const char* kDriverVersion = "580.00";
constexpr const char* kNvmlVersion = "13.580.00";

constexpr unsigned kPowerIdleMw = 70'000;
constexpr unsigned kPowerLimitMw = 700'000;
constexpr unsigned kPowerLimitMinMw = 200'000;

constexpr unsigned kIdleSmMhz = 345;
constexpr unsigned kVideoMhz = 1545;

constexpr unsigned kIdleTempC = 30;
constexpr unsigned kMemoryWarmerC = 8;  // than the GPU
constexpr unsigned kSlowdownC = 87;
constexpr unsigned kShutdownC = 92;
constexpr unsigned kMemoryMaxC = 95;
constexpr unsigned kGpuMaxC = 85;

constexpr unsigned kLinkMbytesPerS = 26'562;
constexpr unsigned kLinkVersion = 6;  // NVML_NVLINK_VERSION_4_0

}  // namespace gpusim::nvml::values
