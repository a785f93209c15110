// CUDA arrays: opaque on a GPU, rows without gaps in device memory here. Everything is used under
// engine::lock().
#pragma once

#include "objects.h"

namespace gpusim::driver {

struct Array {
    Context* context = nullptr;
    CUDA_ARRAY3D_DESCRIPTOR descriptor{};
    uintptr_t base = 0;
    bool is_level = false;  // of a mipmapped array, which owns it

    size_t element_bytes() const;
    size_t row_bytes() const { return descriptor.Width * element_bytes(); }
    size_t rows() const { return descriptor.Height > 0 ? descriptor.Height : 1; }
    size_t planes() const { return descriptor.Depth > 0 ? descriptor.Depth : 1; }
    size_t size_bytes() const { return row_bytes() * rows() * planes(); }
};

Registry<Array>& arrays();

// With their context; the memory goes with the context's other memory.
void release_arrays(Context& context);

}  // namespace gpusim::driver
