// Device memory that a program allocates and frees itself, and what it may ask about it.
#include <algorithm>
#include <limits>

#include "api.h"
#include "engine/box_state.h"
#include "engine/device_facts.h"
#include "graph_memory.h"
#include "memory.h"
#include "pool.h"
#include "work.h"

using namespace gpusim;
using namespace gpusim::driver;

namespace {

constexpr size_t kPitchGrain = 512;

using Allocate = uintptr_t (*)(Context&, size_t);

template <class Address>
CUresult allocate(Address* address, size_t size_bytes, Allocate from) {
    if (address == nullptr || size_bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Context* context = current_context();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    const uintptr_t base = from(*context, size_bytes);
    if (base == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    *address = static_cast<Address>(base);
    return CUDA_SUCCESS;
}

template <class Address, class Size>
CUresult allocate_pitch(Address* address, Size* pitch, size_t width, size_t height, unsigned element_bytes,
                        Allocate from) {
    if (address == nullptr || pitch == nullptr || width == 0 || height == 0) return CUDA_ERROR_INVALID_VALUE;
    if (element_bytes != 4 && element_bytes != 8 && element_bytes != 16) return CUDA_ERROR_INVALID_VALUE;
    const size_t row = (width + kPitchGrain - 1) / kPitchGrain * kPitchGrain;
    if (row < width || row > SIZE_MAX / height) return CUDA_ERROR_OUT_OF_MEMORY;
    RETURN_IF_FAILED(allocate(address, row * height, from));
    *pitch = static_cast<Size>(row);
    return CUDA_SUCCESS;
}

bool freed_by_mem_free(MemoryOrigin origin) {
    return origin == MemoryOrigin::device || origin == MemoryOrigin::low || origin == MemoryOrigin::managed ||
           origin == MemoryOrigin::pool || origin == MemoryOrigin::graph;
}

// Freeing synchronises implicitly: it waits for all that may still use the memory.
CUresult free_now(CUdeviceptr address) {
    auto held = engine::lock();
    if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    const MemoryRange* range = find_range(address);
    if (range == nullptr || range->base != address || !freed_by_mem_free(range->origin))
        return CUDA_ERROR_INVALID_VALUE;
    const uint64_t id = range->id;
    wait_for_users(*range, held);
    range = find_range(address);
    if (range == nullptr || range->id != id)
        return CUDA_ERROR_INVALID_VALUE;  // freed by another thread meanwhile
    if (range->origin == MemoryOrigin::graph)
        graph_memory::freed(address);
    else if (range->origin == MemoryOrigin::pool)
        give_back_to_pool(address, Point{}, 0);
    else
        release_range(address);
    release_unused_pool_memory();
    return CUDA_SUCCESS;
}

template <class Size>
CUresult memory_info(Size* free_bytes, Size* total_bytes) {
    if (free_bytes == nullptr || total_bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    const Context* context = current_context();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    release_unused_pool_memory();
    constexpr auto kMost =
        static_cast<int64_t>(std::min<uint64_t>(std::numeric_limits<Size>::max(), INT64_MAX));
    const int64_t total = device_memory_bytes();
    const int64_t left = total - box::memory_used(context->device->ordinal);
    *free_bytes = static_cast<Size>(std::clamp<int64_t>(left, 0, kMost));
    *total_bytes = static_cast<Size>(std::min(total, kMost));
    return CUDA_SUCCESS;
}

template <class Address, class Size>
CUresult address_range(Address* base, Size* size_bytes, CUdeviceptr address) {
    const auto held = engine::lock();
    if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    const MemoryRange* range = find_range(address);
    if (range == nullptr) return CUDA_ERROR_NOT_FOUND;
    if (base != nullptr) *base = static_cast<Address>(range->base);
    if (size_bytes != nullptr) *size_bytes = static_cast<Size>(range->size_bytes);
    return CUDA_SUCCESS;
}

}  // namespace

API(cuMemAlloc_v2)(CUdeviceptr* address, size_t size_bytes) {
    return allocate(address, size_bytes, allocate_device_memory);
}
API(cuMemAlloc)(CUdeviceptr_v1* address, unsigned size_bytes) {
    return allocate(address, size_bytes, allocate_low_memory);
}
API(cuMemAllocPitch_v2)
(CUdeviceptr* address, size_t* pitch, size_t width, size_t height, unsigned element_bytes) {
    return allocate_pitch(address, pitch, width, height, element_bytes, allocate_device_memory);
}
API(cuMemAllocPitch)
(CUdeviceptr_v1* address, unsigned* pitch, unsigned width, unsigned height, unsigned element_bytes) {
    return allocate_pitch(address, pitch, width, height, element_bytes, allocate_low_memory);
}

API(cuMemFree_v2)(CUdeviceptr address) { return free_now(address); }
API(cuMemFree)(CUdeviceptr_v1 address) { return free_now(address); }

API(cuMemGetInfo_v2)(size_t* free_bytes, size_t* total_bytes) { return memory_info(free_bytes, total_bytes); }
API(cuMemGetInfo)(unsigned* free_bytes, unsigned* total_bytes) {
    return memory_info(free_bytes, total_bytes);
}

API(cuMemGetAddressRange_v2)(CUdeviceptr* base, size_t* size_bytes, CUdeviceptr address) {
    return address_range(base, size_bytes, address);
}
API(cuMemGetAddressRange)(CUdeviceptr_v1* base, unsigned* size_bytes, CUdeviceptr_v1 address) {
    return address_range(base, size_bytes, address);
}
