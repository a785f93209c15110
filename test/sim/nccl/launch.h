// Puts batches on streams: one kernel of NCCL's each, launched through the driver as the real library does.
// Any thread, no lock held.
#pragma once

#include <memory>
#include <string>

#include "kernel.h"

namespace gpusim::nccl {

// The name of the kernel that does all of this.
std::string kernel_name(const std::vector<Transfer>& transfers);

ncclResult_t launch(std::shared_ptr<Batch> batch, cudaStream_t stream);

}  // namespace gpusim::nccl
