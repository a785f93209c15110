// What the code that nvcc generates registers before main: images, and the kernels and variables in them.
// Nothing reaches the driver until one of them is used; then its image is loaded, once for the process.
// Any thread.
#pragma once

#include "cudart/cuda_api.h"

namespace cudart {

// The kernel behind a host function, or behind a kernel handle itself; cudaErrorInvalidDeviceFunction if
// neither.
cudaError_t find_kernel(const void* function, CUkernel& kernel);
// The host function of a kernel handle; the handle where there is none.
void* host_function(CUkernel kernel);

struct Variable {
    CUdeviceptr address;
    std::size_t size_bytes;
};
// Where the variable behind a host symbol lives; cudaErrorInvalidSymbol if it was never registered.
cudaError_t find_variable(const void* symbol, Variable& variable);

// A kernel handle from a library that the program loaded itself, so that find_kernel knows it.
void add_kernel_handle(CUkernel kernel);

}  // namespace cudart
