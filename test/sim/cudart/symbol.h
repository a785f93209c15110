// Copies to and from the variables of an image, which the program names by their host symbol.
#pragma once

#include "cudart/cuda_api.h"

namespace cudart {

// Where size_bytes at an offset into a variable are; cudaErrorInvalidValue beyond its end.
cudaError_t find_in_variable(const void* symbol, std::size_t offset, std::size_t size_bytes, void*& address);

}  // namespace cudart
