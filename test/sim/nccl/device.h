// Which device, and which context of it, a new communicator belongs to.
#pragma once

#include "communicator.h"

namespace gpusim::nccl {

// The calling thread's current context; device 0's primary one, made current, where it has none.
ncclResult_t use_current_context(ncclComm& comm);

// The primary context of that device.
ncclResult_t use_device(ncclComm& comm, int ordinal);

}  // namespace gpusim::nccl
