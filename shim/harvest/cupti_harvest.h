// Device times by CUPTI: reads its records while the program runs, and makes rows of them, of a graph's
// nodes, too. Where CUPTI is not to be had, events of ours do it (harvest.h); where its records turn out to
// be of another clock, operations have the host's times from then on. The trace says why (device_source). The
// writer's thread only; CUPTI is called on the driver's.
#pragma once

#include <memory>
#include <span>

#include "../machine/device.h"
#include "../rows/observer.h"

namespace gpushim::shim {

std::unique_ptr<Observer> make_cupti_harvest(std::span<const Device> devices);

}  // namespace gpushim::shim
