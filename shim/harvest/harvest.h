// Device times by events: reads the stamps of our events while the program runs, and makes rows of them: when
// operations ran and how sure that is, what the device's clock says, which windows are complete, and why a
// context has no times. The writer's thread only; it waits for nothing, and is in the driver for a few
// milliseconds at most.
#pragma once

#include <memory>
#include <span>

#include "../machine/device.h"
#include "../rows/observer.h"
#include "driver_thread.h"

namespace gpushim::shim {

// How long a look may wait for the driver's thread.
Patience patience_with_driver(const Moment& now);

std::unique_ptr<Observer> make_event_harvest(std::span<const Device> devices);

}  // namespace gpushim::shim
