// Copies of one run of bytes, as the runtime makes them: by the direction that the caller names.
#pragma once

#include "cudart/driver.h"

namespace cudart {

template <DefaultStream kMode>
cudaError_t copy(void* target, const void* source, std::size_t size_bytes, cudaMemcpyKind kind) {
    const auto to = reinterpret_cast<CUdeviceptr>(target), from = reinterpret_cast<CUdeviceptr>(source);
    if (size_bytes == 0) return cudaSuccess;
    switch (kind) {
        case cudaMemcpyHostToDevice:
            return DRIVER_PTDS(cuMemcpyHtoD_v2)(to, source, size_bytes);
        case cudaMemcpyDeviceToHost:
            return DRIVER_PTDS(cuMemcpyDtoH_v2)(target, from, size_bytes);
        case cudaMemcpyDeviceToDevice:
            return DRIVER_PTDS(cuMemcpyDtoD_v2)(to, from, size_bytes);
        case cudaMemcpyHostToHost:
        case cudaMemcpyDefault:
            return DRIVER_PTDS(cuMemcpy)(to, from, size_bytes);
    }
    return cudaErrorInvalidMemcpyDirection;
}

template <DefaultStream kMode>
cudaError_t copy_async(void* target, const void* source, std::size_t size_bytes, cudaMemcpyKind kind,
                       cudaStream_t stream) {
    const auto to = reinterpret_cast<CUdeviceptr>(target), from = reinterpret_cast<CUdeviceptr>(source);
    if (size_bytes == 0) return cudaSuccess;
    switch (kind) {
        case cudaMemcpyHostToDevice:
            return DRIVER_PTSZ(cuMemcpyHtoDAsync_v2)(to, source, size_bytes, stream);
        case cudaMemcpyDeviceToHost:
            return DRIVER_PTSZ(cuMemcpyDtoHAsync_v2)(target, from, size_bytes, stream);
        case cudaMemcpyDeviceToDevice:
            return DRIVER_PTSZ(cuMemcpyDtoDAsync_v2)(to, from, size_bytes, stream);
        case cudaMemcpyHostToHost:
        case cudaMemcpyDefault:
            return DRIVER_PTSZ(cuMemcpyAsync)(to, from, size_bytes, stream);
    }
    return cudaErrorInvalidMemcpyDirection;
}

}  // namespace cudart
