// Whether we are NCCL's profiler plug-in, and what of what it told has no row: table nccl_source. The
// writer's thread only.
#pragma once

#include <memory>
#include <span>

#include "../rows/observer.h"
#include "device.h"

namespace gpushim::shim {

// Null: GPUSHIM_NCCL_PROFILER does not ask for it.
std::unique_ptr<Observer> make_nccl_source(std::span<const Device> devices);

}  // namespace gpushim::shim
