// Rows of what the driver did not answer (unanswered.h). The writer's thread only.
#pragma once

#include <memory>
#include <span>

#include "../rows/observer.h"
#include "device.h"

namespace gpushim::shim {

std::unique_ptr<Observer> make_unanswered(std::span<const Device> devices);

}  // namespace gpushim::shim
