#include "cudart/boundary.h"

namespace cudart {
namespace {

unsigned char byte_of(int value) { return static_cast<unsigned char>(value); }

template <DefaultStream kMode>
cudaError_t fill(void* target, int value, std::size_t size_bytes) {
    if (size_bytes == 0) return cudaSuccess;
    return DRIVER_PTDS(cuMemsetD8_v2)(address_of(target), byte_of(value), size_bytes);
}

template <DefaultStream kMode>
cudaError_t fill_async(void* target, int value, std::size_t size_bytes, cudaStream_t stream) {
    if (size_bytes == 0) return cudaSuccess;
    return DRIVER_PTSZ(cuMemsetD8Async)(address_of(target), byte_of(value), size_bytes, stream);
}

template <DefaultStream kMode>
cudaError_t fill_2d(void* target, std::size_t pitch, int value, std::size_t width, std::size_t height) {
    return DRIVER_PTDS(cuMemsetD2D8_v2)(address_of(target), pitch, byte_of(value), width, height);
}

template <DefaultStream kMode>
cudaError_t fill_2d_async(void* target, std::size_t pitch, int value, std::size_t width, std::size_t height,
                          cudaStream_t stream) {
    return DRIVER_PTSZ(cuMemsetD2D8Async)(address_of(target), pitch, byte_of(value), width, height, stream);
}

// Calls fill_slice(address) for every slice of a box; slices lie ysize rows apart.
template <class FillSlice>
cudaError_t for_each_slice(const cudaPitchedPtr& target, const cudaExtent& extent, FillSlice fill_slice) {
    const std::size_t slice_bytes = target.pitch * target.ysize;
    for (std::size_t z = 0; z < extent.depth; ++z) {
        const cudaError_t error = fill_slice(static_cast<char*>(target.ptr) + z * slice_bytes);
        if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
}

template <DefaultStream kMode>
cudaError_t fill_3d(cudaPitchedPtr target, int value, cudaExtent extent) {
    return for_each_slice(target, extent, [&](void* slice) {
        return fill_2d<kMode>(slice, target.pitch, value, extent.width, extent.height);
    });
}

template <DefaultStream kMode>
cudaError_t fill_3d_async(cudaPitchedPtr target, int value, cudaExtent extent, cudaStream_t stream) {
    return for_each_slice(target, extent, [&](void* slice) {
        return fill_2d_async<kMode>(slice, target.pitch, value, extent.width, extent.height, stream);
    });
}

}  // namespace
}  // namespace cudart

using namespace cudart;

EXPORT_DEFAULT_STREAM(cudaMemset, fill)
EXPORT_STREAM(cudaMemsetAsync, fill_async)
EXPORT_DEFAULT_STREAM(cudaMemset2D, fill_2d)
EXPORT_STREAM(cudaMemset2DAsync, fill_2d_async)
EXPORT_DEFAULT_STREAM(cudaMemset3D, fill_3d)
EXPORT_STREAM(cudaMemset3DAsync, fill_3d_async)
