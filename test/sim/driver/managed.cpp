// Managed memory: one address for host and devices. It does not migrate here: prefetches and advice are kept
// and can be asked for, for a whole allocation at a time, but change no times.
#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <set>

#include "api.h"
#include "memory.h"
#include "work.h"

using namespace gpusim;
using namespace gpusim::driver;

namespace {

constexpr CUmemLocation kNowhere{CU_MEM_LOCATION_TYPE_INVALID, CU_DEVICE_INVALID};

struct Advice {
    bool read_mostly = false;
    CUmemLocation preferred = kNowhere;
    CUmemLocation prefetched = kNowhere;
    std::set<int> accessed_by;  // device ordinals; CU_DEVICE_CPU
};

Advice& advice_of(const MemoryRange& range) {
    static auto* const all = new std::map<uint64_t, Advice>;
    return (*all)[range.id];
}

const MemoryRange* managed_range(CUdeviceptr address, size_t bytes) {
    const MemoryRange* range = find_range(address);
    const bool fits = range != nullptr && range->kind == MemoryKind::managed && range->holds(address, bytes);
    return fits && bytes > 0 ? range : nullptr;
}

CUmemLocation location_of(CUdevice ordinal) {
    return {ordinal == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE, ordinal};
}

bool is_host(CUmemLocation location) {
    return location.type == CU_MEM_LOCATION_TYPE_HOST || location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
           location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

// The older forms know devices and the host only by number.
int number_of(CUmemLocation location) {
    return is_host(location)                ? CU_DEVICE_CPU
           : location.type == kNowhere.type ? CU_DEVICE_INVALID
                                            : location.id;
}

CUresult check_location(CUmemLocation location) {
    if (is_host(location)) return CUDA_SUCCESS;
    if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    return device(location.id) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult prefetch(Stream& stream, CUdeviceptr address, size_t bytes, CUmemLocation location) {
    const MemoryRange* range = managed_range(address, bytes);
    if (range == nullptr) return CUDA_ERROR_INVALID_VALUE;
    RETURN_IF_FAILED(check_location(location));
    advice_of(*range).prefetched = location;
    return submit(stream, EmptyWork{});
}

CUresult prefetch_on(CUstream handle, CUdeviceptr address, size_t bytes, CUmemLocation location,
                     unsigned flags) {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Stream* stream = find_stream(handle);
    return stream == nullptr ? stream_error() : prefetch(*stream, address, bytes, location);
}

CUresult advise(CUdeviceptr address, size_t bytes, CUmem_advise what, CUmemLocation location) {
    const auto held = engine::lock();
    const MemoryRange* range = managed_range(address, bytes);
    if (range == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const bool needs_place = what == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
                             what == CU_MEM_ADVISE_SET_ACCESSED_BY || what == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
    if (needs_place) RETURN_IF_FAILED(check_location(location));
    Advice& advice = advice_of(*range);
    switch (what) {
        case CU_MEM_ADVISE_SET_READ_MOSTLY:
            advice.read_mostly = true;
            break;
        case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
            advice.read_mostly = false;
            break;
        case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
            advice.preferred = location;
            break;
        case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
            advice.preferred = kNowhere;
            break;
        case CU_MEM_ADVISE_SET_ACCESSED_BY:
            advice.accessed_by.insert(number_of(location));
            break;
        case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
            advice.accessed_by.erase(number_of(location));
            break;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

int answer(const Advice& advice, CUmem_range_attribute attribute) {
    switch (attribute) {
        case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
            return advice.read_mostly ? 1 : 0;
        case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
            return number_of(advice.preferred);
        case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
            return number_of(advice.prefetched);
        case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
            return advice.preferred.type;
        case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
            return advice.preferred.id;
        case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
            return advice.prefetched.type;
        default:
            return advice.prefetched.id;
    }
}

CUresult range_attribute(void* data, size_t size_bytes, CUmem_range_attribute attribute, CUdeviceptr address,
                         size_t bytes) {
    const MemoryRange* range = managed_range(address, bytes);
    if (range == nullptr || data == nullptr || size_bytes == 0 || size_bytes % sizeof(int) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (attribute < CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY ||
        attribute > CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID)
        return CUDA_ERROR_INVALID_VALUE;
    auto* results = static_cast<int*>(data);
    const Advice& advice = advice_of(*range);
    if (attribute != CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY) {
        if (size_bytes != sizeof(int)) return CUDA_ERROR_INVALID_VALUE;
        *results = answer(advice, attribute);
        return CUDA_SUCCESS;
    }
    const size_t room = size_bytes / sizeof(int);
    std::fill_n(results, room, CU_DEVICE_INVALID);
    std::copy_n(advice.accessed_by.begin(), std::min(room, advice.accessed_by.size()), results);
    return CUDA_SUCCESS;
}

// A batch is refused as a whole: all of it is checked before any of it is done.
CUresult prefetch_batch(CUdeviceptr* addresses, size_t* sizes, size_t count, CUmemLocation* places,
                        size_t* first_of_place, size_t place_count, unsigned long long flags,
                        CUstream handle) {
    if (addresses == nullptr || sizes == nullptr || places == nullptr || first_of_place == nullptr ||
        count == 0 || place_count == 0 || place_count > count || first_of_place[0] != 0 || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Stream* stream = find_stream(handle);
    if (stream == nullptr) return stream_error();
    if (stream->is_legacy) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i)
        if (managed_range(addresses[i], sizes[i]) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0, place = 0; i < count; ++i) {
        if (place + 1 < place_count && first_of_place[place + 1] <= i) ++place;
        RETURN_IF_FAILED(prefetch(*stream, addresses[i], sizes[i], places[place]));
    }
    return CUDA_SUCCESS;
}

}  // namespace

API(cuMemAllocManaged)(CUdeviceptr* address, size_t size_bytes, unsigned flags) {
    if (address == nullptr || size_bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Context* context = current_context();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    void* at =
        mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    MemoryRange range;
    range.kind = MemoryKind::managed;
    range.origin = MemoryOrigin::managed;
    range.context = context;
    range.device = context->device->ordinal;
    range.base = reinterpret_cast<uintptr_t>(at);
    range.size_bytes = size_bytes;
    range.flags = flags;
    *address = add_range(range).base;
    return CUDA_SUCCESS;
}

API(cuMemPrefetchAsync_v2)
(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned flags, CUstream stream) {
    return prefetch_on(stream, address, bytes, location, flags);
}
API(cuMemPrefetchAsync)(CUdeviceptr address, size_t bytes, CUdevice ordinal, CUstream stream) {
    return prefetch_on(stream, address, bytes, location_of(ordinal), 0);
}
API(cuMemPrefetchBatchAsync)
(CUdeviceptr* addresses, size_t* sizes, size_t count, CUmemLocation* places, size_t* first_of_place,
 size_t place_count, unsigned long long flags, CUstream stream) {
    return prefetch_batch(addresses, sizes, count, places, first_of_place, place_count, flags, stream);
}

API(cuMemAdvise_v2)(CUdeviceptr address, size_t bytes, CUmem_advise what, CUmemLocation location) {
    return advise(address, bytes, what, location);
}
API(cuMemAdvise)(CUdeviceptr address, size_t bytes, CUmem_advise what, CUdevice ordinal) {
    return advise(address, bytes, what, location_of(ordinal));
}

API(cuMemRangeGetAttribute)
(void* data, size_t size_bytes, CUmem_range_attribute attribute, CUdeviceptr address, size_t bytes) {
    const auto held = engine::lock();
    return range_attribute(data, size_bytes, attribute, address, bytes);
}
API(cuMemRangeGetAttributes)
(void** data, size_t* sizes, CUmem_range_attribute* attributes, size_t count, CUdeviceptr address,
 size_t bytes) {
    if (data == nullptr || sizes == nullptr || attributes == nullptr || count == 0)
        return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    for (size_t i = 0; i < count; ++i)
        RETURN_IF_FAILED(range_attribute(data[i], sizes[i], attributes[i], address, bytes));
    return CUDA_SUCCESS;
}

API(cuStreamAttachMemAsync)(CUstream handle, CUdeviceptr address, size_t bytes, unsigned flags) {
    const bool one_way =
        flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST || flags == CU_MEM_ATTACH_SINGLE;
    const auto held = engine::lock();
    Stream* stream = find_stream(handle);
    if (stream == nullptr) return stream_error();
    const MemoryRange* range = managed_range(address, 1);
    if (flags == CU_MEM_ATTACH_SINGLE && stream->is_legacy) return CUDA_ERROR_INVALID_VALUE;
    if (!one_way || range == nullptr || range->base != address || (bytes != 0 && bytes != range->size_bytes))
        return CUDA_ERROR_INVALID_VALUE;
    return submit(*stream, EmptyWork{});
}
