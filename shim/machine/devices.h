// The devices of this process, as the driver describes them, and which driver and NCCL that is. Asks the
// driver: only on a thread of the program, after a call of its own has succeeded.
#pragma once

#include <cstddef>
#include <span>

#include "device.h"
#include "identity.h"

namespace gpushim::shim {

constexpr size_t kMostDevices = 64;

// Fills the front of `to`; how many there are.
size_t describe_devices(std::span<Device> to);

// NCCL's only where it is loaded by now.
void describe_versions(TraceIdentity& identity);

}  // namespace gpushim::shim
