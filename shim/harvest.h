// Device times: reads the stamps of our events while the program runs, and makes rows of them: when
// operations ran and how sure that is, what the device's clock says, which windows are complete, and why a
// context has no times. The writer's thread only; it waits for nothing, and is in the driver for a few
// milliseconds at most.
#pragma once

#include <memory>
#include <span>

#include "device.h"
#include "observer.h"

namespace gpushim::shim {

std::unique_ptr<Observer> make_harvest(std::span<const Device> devices);

// Whether device times by events are asked for; then the driver's thread has work (driver_thread.h).
bool wants_events();

}  // namespace gpushim::shim
