#include "cudart/copy_shape.h"

namespace cudart {

bool is_copy_kind(cudaMemcpyKind kind) { return kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault; }

CUmemorytype source_memory(cudaMemcpyKind kind) {
    if (kind == cudaMemcpyDefault) return CU_MEMORYTYPE_UNIFIED;
    const bool is_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice;
    return is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

CUmemorytype target_memory(cudaMemcpyKind kind) {
    if (kind == cudaMemcpyDefault) return CU_MEMORYTYPE_UNIFIED;
    const bool is_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost;
    return is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

// Both address fields are set: the memory type says which of them counts.
cudaError_t describe_2d(void* target, std::size_t target_pitch, const void* source, std::size_t source_pitch,
                        std::size_t width, std::size_t height, cudaMemcpyKind kind, CUDA_MEMCPY2D& shape) {
    if (!is_copy_kind(kind)) return cudaErrorInvalidMemcpyDirection;
    if (width > target_pitch || width > source_pitch) return cudaErrorInvalidPitchValue;
    shape = {};
    shape.srcMemoryType = source_memory(kind);
    shape.srcHost = source;
    shape.srcDevice = reinterpret_cast<CUdeviceptr>(source);
    shape.srcPitch = source_pitch;
    shape.dstMemoryType = target_memory(kind);
    shape.dstHost = target;
    shape.dstDevice = reinterpret_cast<CUdeviceptr>(target);
    shape.dstPitch = target_pitch;
    shape.WidthInBytes = width;
    shape.Height = height;
    return cudaSuccess;
}

cudaError_t describe_3d(const cudaMemcpy3DParms& runtime, CUDA_MEMCPY3D& shape) {
    if (runtime.srcArray != nullptr || runtime.dstArray != nullptr) return cudaErrorNotSupported;
    if (!is_copy_kind(runtime.kind)) return cudaErrorInvalidMemcpyDirection;
    shape = {};
    shape.srcXInBytes = runtime.srcPos.x;
    shape.srcY = runtime.srcPos.y;
    shape.srcZ = runtime.srcPos.z;
    shape.srcMemoryType = source_memory(runtime.kind);
    shape.srcHost = runtime.srcPtr.ptr;
    shape.srcDevice = reinterpret_cast<CUdeviceptr>(runtime.srcPtr.ptr);
    shape.srcPitch = runtime.srcPtr.pitch;
    shape.srcHeight = runtime.srcPtr.ysize;
    shape.dstXInBytes = runtime.dstPos.x;
    shape.dstY = runtime.dstPos.y;
    shape.dstZ = runtime.dstPos.z;
    shape.dstMemoryType = target_memory(runtime.kind);
    shape.dstHost = runtime.dstPtr.ptr;
    shape.dstDevice = reinterpret_cast<CUdeviceptr>(runtime.dstPtr.ptr);
    shape.dstPitch = runtime.dstPtr.pitch;
    shape.dstHeight = runtime.dstPtr.ysize;
    shape.WidthInBytes = runtime.extent.width;
    shape.Height = runtime.extent.height;
    shape.Depth = runtime.extent.depth;
    return cudaSuccess;
}

namespace {

cudaMemcpyKind copy_kind(CUmemorytype source, CUmemorytype target) {
    if (source == CU_MEMORYTYPE_UNIFIED || target == CU_MEMORYTYPE_UNIFIED) return cudaMemcpyDefault;
    const bool from_host = source == CU_MEMORYTYPE_HOST, to_host = target == CU_MEMORYTYPE_HOST;
    if (from_host) return to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
    return to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

void* address(CUmemorytype memory, const void* host, CUdeviceptr device) {
    return memory == CU_MEMORYTYPE_HOST ? const_cast<void*>(host) : reinterpret_cast<void*>(device);
}

}  // namespace

cudaMemcpy3DParms runtime_3d(const CUDA_MEMCPY3D& shape) {
    cudaMemcpy3DParms runtime{};
    runtime.srcPos = {shape.srcXInBytes, shape.srcY, shape.srcZ};
    runtime.srcPtr = {address(shape.srcMemoryType, shape.srcHost, shape.srcDevice), shape.srcPitch,
                      shape.srcPitch, shape.srcHeight};
    runtime.dstPos = {shape.dstXInBytes, shape.dstY, shape.dstZ};
    runtime.dstPtr = {address(shape.dstMemoryType, shape.dstHost, shape.dstDevice), shape.dstPitch,
                      shape.dstPitch, shape.dstHeight};
    runtime.extent = {shape.WidthInBytes, shape.Height, shape.Depth};
    runtime.kind = copy_kind(shape.srcMemoryType, shape.dstMemoryType);
    return runtime;
}

cudaMemcpy3DParms one_row(void* target, const void* source, std::size_t size_bytes, cudaMemcpyKind kind) {
    cudaMemcpy3DParms runtime{};
    runtime.srcPtr = {const_cast<void*>(source), size_bytes, size_bytes, 1};
    runtime.dstPtr = {target, size_bytes, size_bytes, 1};
    runtime.extent = {size_bytes, 1, 1};
    runtime.kind = kind;
    return runtime;
}

}  // namespace cudart
