#include "cudart/boundary.h"

namespace cudart {
namespace {

// For the runtime, unlike the driver, nothing is a size that can be had: it is a null pointer.
template <class Allocate>
cudaError_t allocate_unless_empty(void** pointer, std::size_t size_bytes, Allocate allocate) {
    if (pointer == nullptr) return cudaErrorInvalidValue;
    *pointer = nullptr;
    return size_bytes == 0 ? cudaSuccess : allocate();
}

cudaError_t allocate(void** pointer, std::size_t size_bytes) {
    return allocate_unless_empty(pointer, size_bytes, [=] {
        return DRIVER(cuMemAlloc_v2)(reinterpret_cast<CUdeviceptr*>(pointer), size_bytes);
    });
}

cudaError_t release(void* pointer) {
    return pointer == nullptr ? cudaSuccess : DRIVER(cuMemFree_v2)(address_of(pointer));
}

cudaError_t allocate_host_with_flags(void** pointer, std::size_t size_bytes, unsigned flags) {
    return allocate_unless_empty(pointer, size_bytes,
                                 [=] { return DRIVER(cuMemHostAlloc)(pointer, size_bytes, flags); });
}

cudaError_t allocate_host(void** pointer, std::size_t size_bytes) {
    return allocate_host_with_flags(pointer, size_bytes, cudaHostAllocDefault);
}

cudaError_t release_host(void* pointer) {
    return pointer == nullptr ? cudaSuccess : DRIVER(cuMemFreeHost)(pointer);
}

cudaError_t allocate_pitched(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
    constexpr unsigned kWidestElementBytes = 16;
    if (pitch == nullptr) return cudaErrorInvalidValue;
    return allocate_unless_empty(pointer, width * height, [=] {
        return DRIVER(cuMemAllocPitch_v2)(reinterpret_cast<CUdeviceptr*>(pointer), pitch, width, height,
                                          kWidestElementBytes);
    });
}

cudaError_t allocate_3d(cudaPitchedPtr* pitched, cudaExtent extent) {
    if (pitched == nullptr) return cudaErrorInvalidValue;
    *pitched = cudaPitchedPtr{nullptr, 0, extent.width, extent.height};
    return allocate_pitched(&pitched->ptr, &pitched->pitch, extent.width, extent.height * extent.depth);
}

cudaMemoryType memory_type(CUmemorytype type, bool is_managed) {
    if (is_managed) return cudaMemoryTypeManaged;
    if (type == CU_MEMORYTYPE_HOST) return cudaMemoryTypeHost;
    return type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
}

// Asks for all attributes at once: this form answers for memory that CUDA knows nothing of, too.
cudaError_t pointer_attributes(cudaPointerAttributes* result, const void* pointer) {
    if (result == nullptr) return cudaErrorInvalidValue;
    constexpr int kNoDevice = -2;
    CUmemorytype type{};
    int device = kNoDevice, is_managed = 0;
    CUdeviceptr device_address = 0;
    void* host_address = nullptr;
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                   CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER,
                                   CU_POINTER_ATTRIBUTE_IS_MANAGED};
    void* answers[] = {&type, &device, &device_address, &host_address, &is_managed};
    const cudaError_t error =
        DRIVER(cuPointerGetAttributes)(std::size(asked), asked, answers, address_of(pointer));
    if (error != cudaSuccess) return error;
    *result = {};
    result->type = memory_type(type, is_managed != 0);
    const bool is_known = result->type != cudaMemoryTypeUnregistered;
    result->device = is_known ? device : kNoDevice;
    result->devicePointer = reinterpret_cast<void*>(device_address);
    result->hostPointer = is_known ? host_address : const_cast<void*>(pointer);
    return cudaSuccess;
}

}  // namespace
}  // namespace cudart

using namespace cudart;

EXPORT_RUNTIME(cudaMalloc, context, allocate)
EXPORT_RUNTIME(cudaFree, context, release)
EXPORT_RUNTIME(cudaMallocPitch, context, allocate_pitched)
EXPORT_RUNTIME(cudaMalloc3D, context, allocate_3d)
FORWARD(cudaMallocManaged, cuMemAllocManaged)
EXPORT_RUNTIME(cudaMallocHost, context, allocate_host)
EXPORT_RUNTIME(cudaHostAlloc, context, allocate_host_with_flags)
EXPORT_RUNTIME(cudaFreeHost, context, release_host)
FORWARD(cudaHostRegister, cuMemHostRegister_v2)
FORWARD(cudaHostUnregister, cuMemHostUnregister)
FORWARD(cudaHostGetDevicePointer, cuMemHostGetDevicePointer_v2)
FORWARD(cudaHostGetFlags, cuMemHostGetFlags)
FORWARD(cudaMemGetInfo, cuMemGetInfo_v2)
EXPORT_RUNTIME(cudaPointerGetAttributes, context, pointer_attributes)
FORWARD(cudaIpcGetMemHandle, cuIpcGetMemHandle)
FORWARD(cudaIpcOpenMemHandle, cuIpcOpenMemHandle_v2)
FORWARD(cudaIpcCloseMemHandle, cuIpcCloseMemHandle)

FORWARD_STREAM(cudaMallocAsync, cuMemAllocAsync)
FORWARD_STREAM(cudaMallocFromPoolAsync, cuMemAllocFromPoolAsync)
FORWARD_STREAM(cudaFreeAsync, cuMemFreeAsync)
FORWARD(cudaMemPoolCreate, cuMemPoolCreate)
FORWARD(cudaMemPoolDestroy, cuMemPoolDestroy)
FORWARD(cudaMemPoolTrimTo, cuMemPoolTrimTo)
FORWARD(cudaMemPoolSetAttribute, cuMemPoolSetAttribute)
FORWARD(cudaMemPoolGetAttribute, cuMemPoolGetAttribute)
FORWARD(cudaMemPoolSetAccess, cuMemPoolSetAccess)
FORWARD(cudaMemPoolGetAccess, cuMemPoolGetAccess)
FORWARD(cudaMemPoolExportToShareableHandle, cuMemPoolExportToShareableHandle)
FORWARD(cudaMemPoolImportFromShareableHandle, cuMemPoolImportFromShareableHandle)
FORWARD(cudaMemPoolExportPointer, cuMemPoolExportPointer)
FORWARD(cudaMemPoolImportPointer, cuMemPoolImportPointer)
FORWARD(cudaMemGetDefaultMemPool, cuMemGetDefaultMemPool)
FORWARD(cudaMemGetMemPool, cuMemGetMemPool)
FORWARD(cudaMemSetMemPool, cuMemSetMemPool)

FORWARD(cudaMemAdvise, cuMemAdvise_v2)
FORWARD_STREAM(cudaMemPrefetchAsync, cuMemPrefetchAsync_v2)
FORWARD_STREAM(cudaMemPrefetchBatchAsync, cuMemPrefetchBatchAsync)
FORWARD_STREAM(cudaMemDiscardBatchAsync, cuMemDiscardBatchAsync)
FORWARD_STREAM(cudaMemDiscardAndPrefetchBatchAsync, cuMemDiscardAndPrefetchBatchAsync)
FORWARD(cudaMemRangeGetAttribute, cuMemRangeGetAttribute)
FORWARD(cudaMemRangeGetAttributes, cuMemRangeGetAttributes)
