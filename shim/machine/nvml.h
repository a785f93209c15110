// What NVML shows of this process's devices, as rows: once a second of the trace's clock, soon
// after the start and at the end of the process each key of nvml_keys.def, and once how the devices are
// connected. Only devices that have a context here, or all while none is known to. The writer's thread; NVML
// itself is asked on another (nvml_sampler.h).
#pragma once

#include <memory>
#include <span>

#include "../rows/observer.h"
#include "device.h"

namespace gpushim::shim {

std::unique_ptr<Observer> make_nvml_observer(std::span<const Device> devices);

}  // namespace gpushim::shim
