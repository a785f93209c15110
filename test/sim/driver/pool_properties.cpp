// Pools as objects: made, destroyed, asked and told. Their memory cannot be shared with other processes.
#include "pool.h"

using namespace gpusim;
using namespace gpusim::driver;

namespace {

// With the lock, for a living pool.
template <class Work>
CUresult with_pool(CUmemoryPool handle, Work work) {
    const auto held = engine::lock();
    Pool* pool = pools().find(handle);
    return pool == nullptr || pool->destroyed ? CUDA_ERROR_INVALID_VALUE : work(*pool);
}

template <class Work>
CUresult with_device(CUdevice ordinal, const void* result, Work work) {
    if (result == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Device* on = device(ordinal);
    return on == nullptr ? CUDA_ERROR_INVALID_DEVICE : work(*on);
}

CUmemoryPool handle_of(Pool& pool) { return reinterpret_cast<CUmemoryPool>(&pool); }

CUresult set_current(Device& on, CUmemoryPool handle) {
    Pool* pool = pools().find(handle);
    if (pool == nullptr || pool->destroyed || pool->device != &on) return CUDA_ERROR_INVALID_VALUE;
    on.current_pool = pool;
    return CUDA_SUCCESS;
}

int* switch_of(Pool& pool, CUmemPool_attribute attribute) {
    switch (attribute) {
        case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
            return &pool.follow_events;
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
            return &pool.opportunistic;
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
            return &pool.internal_dependencies;
        default:
            return nullptr;
    }
}

uint64_t* amount_of(Pool& pool, CUmemPool_attribute attribute) {
    switch (attribute) {
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
            return &pool.release_threshold;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
            return &pool.reserved;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
            return &pool.reserved_high;
        case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
            return &pool.used;
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
            return &pool.used_high;
        default:
            return nullptr;
    }
}

CUresult get(Pool& pool, CUmemPool_attribute attribute, void* value) {
    release_unused_pool_memory();
    if (const int* on = switch_of(pool, attribute); on != nullptr)
        *static_cast<int*>(value) = *on;
    else if (const uint64_t* amount = amount_of(pool, attribute); amount != nullptr)
        *static_cast<cuuint64_t*>(value) = *amount;
    else
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

// High-water marks can only be reset: to what is there now.
CUresult reset(uint64_t& high, uint64_t now, const void* value) {
    if (*static_cast<const cuuint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
    high = now;
    return CUDA_SUCCESS;
}

CUresult set(Pool& pool, CUmemPool_attribute attribute, const void* value) {
    if (int* on = switch_of(pool, attribute); on != nullptr) {
        *on = *static_cast<const int*>(value);
        return CUDA_SUCCESS;
    }
    switch (attribute) {
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
            pool.release_threshold = *static_cast<const cuuint64_t*>(value);
            return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
            return reset(pool.reserved_high, pool.reserved, value);
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
            return reset(pool.used_high, pool.used, value);
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult check(const CUmemPoolProps& properties) {
    if (properties.allocType != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
    if (properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE && device(properties.location.id) == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    const bool on_device = properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    const bool shared = properties.handleTypes != CU_MEM_HANDLE_TYPE_NONE;
    return on_device && !shared ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult set_access(Pool& pool, const CUmemAccessDesc& wanted) {
    const int ordinal = wanted.location.id;
    const bool readable =
        wanted.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE || wanted.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (wanted.location.type != CU_MEM_LOCATION_TYPE_DEVICE || device(ordinal) == nullptr || !readable)
        return CUDA_ERROR_INVALID_VALUE;
    const bool revokes_own = ordinal == pool.device->ordinal && wanted.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE;
    if (revokes_own) return CUDA_ERROR_INVALID_VALUE;
    pool.access[ordinal] = wanted.flags;
    return CUDA_SUCCESS;
}

bool is_device_memory(const CUmemLocation* location, CUmemAllocationType type) {
    return location != nullptr && location->type == CU_MEM_LOCATION_TYPE_DEVICE &&
           type == CU_MEM_ALLOCATION_TYPE_PINNED;
}

}  // namespace

API(cuMemPoolCreate)(CUmemoryPool* handle, const CUmemPoolProps* properties) {
    if (handle == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    RETURN_IF_FAILED(check(*properties));
    *handle = handle_of(make_pool(*device(properties->location.id), *properties));
    return CUDA_SUCCESS;
}
API(cuMemPoolDestroy)(CUmemoryPool handle) {
    return with_pool(handle, [](Pool& pool) {
        if (pool.is_default) return CUDA_ERROR_INVALID_VALUE;
        destroy_pool(pool);
        return CUDA_SUCCESS;
    });
}
API(cuMemPoolTrimTo)(CUmemoryPool handle, size_t keep_bytes) {
    return with_pool(handle, [=](Pool& pool) {
        trim(pool, keep_bytes);
        return CUDA_SUCCESS;
    });
}

API(cuMemPoolGetAttribute)(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_pool(handle, [=](Pool& pool) { return get(pool, attribute, value); });
}
API(cuMemPoolSetAttribute)(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_pool(handle, [=](Pool& pool) { return set(pool, attribute, value); });
}

API(cuMemPoolSetAccess)(CUmemoryPool handle, const CUmemAccessDesc* wanted, size_t count) {
    if (wanted == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    return with_pool(handle, [=](Pool& pool) {
        for (size_t i = 0; i < count; ++i) RETURN_IF_FAILED(set_access(pool, wanted[i]));
        return CUDA_SUCCESS;
    });
}
API(cuMemPoolGetAccess)(CUmemAccess_flags* flags, CUmemoryPool handle, CUmemLocation* location) {
    if (flags == nullptr || location == nullptr || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    return with_pool(handle, [=](Pool& pool) {
        if (device(location->id) == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const auto given = pool.access.find(location->id);
        const bool own = location->id == pool.device->ordinal;
        *flags = own                          ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                 : given != pool.access.end() ? given->second
                                              : CU_MEM_ACCESS_FLAGS_PROT_NONE;
        return CUDA_SUCCESS;
    });
}

API(cuDeviceGetDefaultMemPool)(CUmemoryPool* handle, CUdevice ordinal) {
    return with_device(ordinal, handle, [=](Device& on) {
        *handle = handle_of(default_pool(on));
        return CUDA_SUCCESS;
    });
}
API(cuDeviceGetMemPool)(CUmemoryPool* handle, CUdevice ordinal) {
    return with_device(ordinal, handle, [=](Device& on) {
        *handle = handle_of(current_pool(on));
        return CUDA_SUCCESS;
    });
}
API(cuDeviceSetMemPool)(CUdevice ordinal, CUmemoryPool handle) {
    return with_device(ordinal, handle, [=](Device& on) { return set_current(on, handle); });
}

API(cuMemGetDefaultMemPool)(CUmemoryPool* handle, CUmemLocation* location, CUmemAllocationType type) {
    if (!is_device_memory(location, type)) return CUDA_ERROR_NOT_SUPPORTED;
    return sim_cuDeviceGetDefaultMemPool(handle, location->id);
}
API(cuMemGetMemPool)(CUmemoryPool* handle, CUmemLocation* location, CUmemAllocationType type) {
    if (!is_device_memory(location, type)) return CUDA_ERROR_NOT_SUPPORTED;
    return sim_cuDeviceGetMemPool(handle, location->id);
}
API(cuMemSetMemPool)(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool handle) {
    if (!is_device_memory(location, type)) return CUDA_ERROR_NOT_SUPPORTED;
    return sim_cuDeviceSetMemPool(location->id, handle);
}
