// An image whose kernels somebody else on the box executes: NCCL's, whose kernels wait for other ranks. It is
// loaded like any image (cuModuleLoadData, cuLibraryLoadData); its kernels have one parameter of 8 bytes.
// They can be captured and launched like any other; each execution asks `begin` for its behaviour.
#pragma once

#include <memory>

#include "operation.h"

namespace gpusim {

struct KernelImage {
    char magic[16] = "gpusim-kernels\n";
    // Called with the engine's lock held, at launch and at each replay of a graph, never at capture.
    std::shared_ptr<Behaviour> (*begin)(const char* kernel, const void* parameter, int device) = nullptr;
};

}  // namespace gpusim
