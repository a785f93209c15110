// What tells device times in this process: events of ours (harvest.h), or CUPTI where that was asked for
// (cupti_harvest.h). The writer's thread only.
#pragma once

#include <memory>
#include <span>

#include "../machine/device.h"
#include "../rows/observer.h"

namespace gpushim::shim {

std::unique_ptr<Observer> make_time_source(std::span<const Device> devices);

}  // namespace gpushim::shim
