// What a program may ask about an address.
#include "api.h"
#include "memory.h"

using namespace gpusim;
using namespace gpusim::driver;

namespace {

template <class T>
void put(void* data, T value) {
    *static_cast<T*>(data) = value;
}

bool on_device(const MemoryRange& range) { return range.kind == MemoryKind::device; }

CUresult host_pointer(void* data, const MemoryRange& range, CUdeviceptr address) {
    if (on_device(range)) return CUDA_ERROR_INVALID_VALUE;
    put(data, reinterpret_cast<void*>(address));
    return CUDA_SUCCESS;
}

CUcontext context_handle(const MemoryRange& range) { return reinterpret_cast<CUcontext>(range.context); }

CUresult pool_of(void* data, const MemoryRange& range) {
    put(data, reinterpret_cast<CUmemoryPool>(range.pool));
    return CUDA_SUCCESS;
}

CUresult attribute_of_range(void* data, CUpointer_attribute attribute, const MemoryRange& range,
                            CUdeviceptr address) {
    const bool managed = range.kind == MemoryKind::managed;
    switch (attribute) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
            if (range.context == nullptr) return CUDA_ERROR_INVALID_VALUE;
            return put(data, context_handle(range)), CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            return put(data, range.kind == MemoryKind::pinned ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE),
                   CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
            return put(data, address), CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            return host_pointer(data, range, address);
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
            return put(data, range.sync_memops), CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
            return put(data, static_cast<unsigned long long>(range.id)), CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            return put(data, managed), CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            return put(data, range.device), CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
            return put(data, range.origin == MemoryOrigin::device), CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
            return put(data, static_cast<CUdeviceptr>(range.base)), CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
            return put(data, range.size_bytes), CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_MAPPED:
            return put(data, true), CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
            return put(data, static_cast<cuuint64_t>(range.origin == MemoryOrigin::mapped)), CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
            return put(data, false), CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
            return put(data, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE), CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
            return pool_of(data, range);
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

// The driver knows nothing of pageable memory, except that it is not its own.
CUresult attribute_of_unknown(void* data, CUpointer_attribute attribute) {
    switch (attribute) {
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        case CU_POINTER_ATTRIBUTE_MAPPED:
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
            return put(data, false), CUDA_SUCCESS;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult attribute_of(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
    const MemoryRange* range = find_range(address);
    return range != nullptr ? attribute_of_range(data, attribute, *range, address)
                            : attribute_of_unknown(data, attribute);
}

// cuPointerGetAttributes gives a standard value where cuPointerGetAttribute gives an error.
void put_standard(void* data, CUpointer_attribute attribute) {
    switch (attribute) {
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            return put(data, static_cast<CUmemorytype>(0));
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            return put(data, static_cast<int>(CU_DEVICE_INVALID));
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
            return put(data, false);
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
            return put(data, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE);
        default:
            return put(data, uint64_t{0});
    }
}

bool is_attribute(CUpointer_attribute attribute) {
    return attribute >= CU_POINTER_ATTRIBUTE_CONTEXT &&
           attribute <= CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE;
}

}  // namespace

API(cuPointerGetAttribute)(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
    if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    return attribute_of(data, attribute, address);
}

API(cuPointerGetAttributes)
(unsigned count, CUpointer_attribute* attributes, void** data, CUdeviceptr address) {
    if (attributes == nullptr || data == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; ++i)
        if (!is_attribute(attributes[i]) || attributes[i] == CU_POINTER_ATTRIBUTE_P2P_TOKENS ||
            data[i] == nullptr)
            return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    for (unsigned i = 0; i < count; ++i)
        if (attribute_of(data[i], attributes[i], address) != CUDA_SUCCESS)
            put_standard(data[i], attributes[i]);
    return CUDA_SUCCESS;
}

API(cuPointerSetAttribute)(const void* value, CUpointer_attribute attribute, CUdeviceptr address) {
    if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    MemoryRange* range = find_range(address);
    if (range == nullptr || range->kind != MemoryKind::device) return CUDA_ERROR_INVALID_VALUE;
    range->sync_memops = *static_cast<const bool*>(value);
    return CUDA_SUCCESS;
}
