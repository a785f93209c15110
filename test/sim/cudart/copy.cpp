#include "cudart/copy.h"

#include "cudart/boundary.h"
#include "cudart/copy_shape.h"

namespace cudart {
namespace {

template <DefaultStream kMode>
cudaError_t copy_2d(void* target, std::size_t target_pitch, const void* source, std::size_t source_pitch,
                    std::size_t width, std::size_t height, cudaMemcpyKind kind) {
    CUDA_MEMCPY2D shape;
    const cudaError_t error =
        describe_2d(target, target_pitch, source, source_pitch, width, height, kind, shape);
    return error == cudaSuccess ? DRIVER_PTDS(cuMemcpy2DUnaligned_v2)(&shape) : error;
}

template <DefaultStream kMode>
cudaError_t copy_2d_async(void* target, std::size_t target_pitch, const void* source,
                          std::size_t source_pitch, std::size_t width, std::size_t height,
                          cudaMemcpyKind kind, cudaStream_t stream) {
    CUDA_MEMCPY2D shape;
    const cudaError_t error =
        describe_2d(target, target_pitch, source, source_pitch, width, height, kind, shape);
    return error == cudaSuccess ? DRIVER_PTSZ(cuMemcpy2DAsync_v2)(&shape, stream) : error;
}

template <DefaultStream kMode>
cudaError_t copy_3d(const cudaMemcpy3DParms* runtime) {
    CUDA_MEMCPY3D shape;
    const cudaError_t error = runtime == nullptr ? cudaErrorInvalidValue : describe_3d(*runtime, shape);
    return error == cudaSuccess ? DRIVER_PTDS(cuMemcpy3D_v2)(&shape) : error;
}

template <DefaultStream kMode>
cudaError_t copy_3d_async(const cudaMemcpy3DParms* runtime, cudaStream_t stream) {
    CUDA_MEMCPY3D shape;
    const cudaError_t error = runtime == nullptr ? cudaErrorInvalidValue : describe_3d(*runtime, shape);
    return error == cudaSuccess ? DRIVER_PTSZ(cuMemcpy3DAsync_v2)(&shape, stream) : error;
}

cudaError_t both_contexts(int target_device, int source_device, CUcontext& target, CUcontext& source) {
    const cudaError_t error = primary_context(target_device, target);
    return error == cudaSuccess ? primary_context(source_device, source) : error;
}

cudaError_t copy_peer(void* target, int target_device, const void* source, int source_device,
                      std::size_t size_bytes) {
    CUcontext to = nullptr, from = nullptr;
    const cudaError_t error = both_contexts(target_device, source_device, to, from);
    if (error != cudaSuccess) return error;
    return DRIVER(cuMemcpyPeer)(reinterpret_cast<CUdeviceptr>(target), to,
                                reinterpret_cast<CUdeviceptr>(source), from, size_bytes);
}

cudaError_t copy_peer_async(void* target, int target_device, const void* source, int source_device,
                            std::size_t size_bytes, cudaStream_t stream) {
    CUcontext to = nullptr, from = nullptr;
    const cudaError_t error = both_contexts(target_device, source_device, to, from);
    if (error != cudaSuccess) return error;
    return DRIVER(cuMemcpyPeerAsync)(reinterpret_cast<CUdeviceptr>(target), to,
                                     reinterpret_cast<CUdeviceptr>(source), from, size_bytes, stream);
}

}  // namespace
}  // namespace cudart

using namespace cudart;

EXPORT_DEFAULT_STREAM(cudaMemcpy, copy)
EXPORT_STREAM(cudaMemcpyAsync, copy_async)
EXPORT_DEFAULT_STREAM(cudaMemcpy2D, copy_2d)
EXPORT_STREAM(cudaMemcpy2DAsync, copy_2d_async)
EXPORT_DEFAULT_STREAM(cudaMemcpy3D, copy_3d)
EXPORT_STREAM(cudaMemcpy3DAsync, copy_3d_async)
EXPORT_RUNTIME(cudaMemcpyPeer, context, copy_peer)
EXPORT_RUNTIME(cudaMemcpyPeerAsync, context, copy_peer_async)
FORWARD_STREAM(cudaMemcpyBatchAsync, cuMemcpyBatchAsync_v2)
