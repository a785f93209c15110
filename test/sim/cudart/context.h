// Which device the calling thread works on, and its primary context, made current when first needed.
// A context that the program made current itself is left alone.
#pragma once

#include "cudart/cuda_api.h"

namespace cudart {

// Starts the driver and gives the thread a current context if it has none.
cudaError_t use_context();
// Chooses the device of the thread and makes its primary context current.
cudaError_t choose_device(int device);
int chosen_device();
cudaError_t reset_device();
// The primary context of a device, retained once by this library.
cudaError_t primary_context(int device, CUcontext& context);

}  // namespace cudart
