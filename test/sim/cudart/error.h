// The calling thread's last error, as cudaGetLastError and cudaPeekAtLastError know it.
#pragma once

#include "cudart/cuda_api.h"

namespace cudart {

// Remembers an error and returns what it was given; success changes nothing.
cudaError_t remember(cudaError_t error);

}  // namespace cudart
