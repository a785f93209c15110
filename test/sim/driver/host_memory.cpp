// Pinned host memory: allocated by the driver, or the program's own and registered.
#include <sys/mman.h>
#include <unistd.h>

#include "api.h"
#include "memory.h"
#include "work.h"

using namespace gpusim;
using namespace gpusim::driver;

namespace {

constexpr unsigned kAllocFlags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned kRegisterFlags =
    CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;

MemoryRange pinned(Context& context, const void* address, size_t size_bytes, unsigned flags,
                   MemoryOrigin origin) {
    MemoryRange range;
    range.kind = MemoryKind::pinned;
    range.origin = origin;
    range.context = &context;
    range.device = context.device->ordinal;
    range.base = reinterpret_cast<uintptr_t>(address);
    range.size_bytes = size_bytes;
    range.flags = flags;
    return range;
}

CUresult allocate(void** address, size_t size_bytes, unsigned flags) {
    if (address == nullptr || size_bytes == 0 || (flags & ~kAllocFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Context* context = current_context();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    void* at = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    add_range(pinned(*context, at, size_bytes, flags, MemoryOrigin::host));
    *address = at;
    return CUDA_SUCCESS;
}

bool is_mapped(const void* address, size_t size_bytes) {
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const uintptr_t first = reinterpret_cast<uintptr_t>(address) / page * page;
    const size_t length = reinterpret_cast<uintptr_t>(address) + size_bytes - first;
    std::vector<unsigned char> in_core((length + page - 1) / page);
    return mincore(reinterpret_cast<void*>(first), length, in_core.data()) == 0;
}

CUresult register_range(void* address, size_t size_bytes, unsigned flags) {
    if (address == nullptr || size_bytes == 0 || (flags & ~kRegisterFlags) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Context* context = current_context();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    const auto base = reinterpret_cast<uintptr_t>(address);
    if (base + size_bytes < base || !is_mapped(address, size_bytes)) return CUDA_ERROR_INVALID_VALUE;
    if (overlaps_range(base, size_bytes)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    add_range(pinned(*context, address, size_bytes, flags, MemoryOrigin::registered));
    return CUDA_SUCCESS;
}

// Ends what `origin` made at `address`, once no work uses it any more.
CUresult end(void* address, MemoryOrigin origin, CUresult not_that) {
    if (address == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto held = engine::lock();
    if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    const auto base = reinterpret_cast<uintptr_t>(address);
    const auto found = [&]() -> const MemoryRange* {
        const MemoryRange* range = find_range(base);
        return range != nullptr && range->base == base && range->origin == origin ? range : nullptr;
    };
    const MemoryRange* range = found();
    if (range == nullptr) return not_that;
    wait_for_users(*range, held);
    if (found() == nullptr) return not_that;  // ended by another thread meanwhile
    release_range(base);
    return CUDA_SUCCESS;
}

template <class Address>
CUresult device_pointer(Address* result, const void* address, unsigned flags) {
    if (result == nullptr || address == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    const MemoryRange* range = find_range(address);
    if (range == nullptr || range->kind != MemoryKind::pinned) return CUDA_ERROR_INVALID_VALUE;
    *result = static_cast<Address>(reinterpret_cast<uintptr_t>(address));
    return *result == reinterpret_cast<uintptr_t>(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

API(cuMemAllocHost_v2)(void** address, size_t size_bytes) { return allocate(address, size_bytes, 0); }
API(cuMemAllocHost)(void** address, unsigned size_bytes) { return allocate(address, size_bytes, 0); }
API(cuMemHostAlloc)(void** address, size_t size_bytes, unsigned flags) {
    return allocate(address, size_bytes, flags);
}
API(cuMemFreeHost)(void* address) { return end(address, MemoryOrigin::host, CUDA_ERROR_INVALID_VALUE); }

API(cuMemHostRegister_v2)(void* address, size_t size_bytes, unsigned flags) {
    return register_range(address, size_bytes, flags);
}
API(cuMemHostRegister)(void* address, size_t size_bytes, unsigned flags) {
    return register_range(address, size_bytes, flags);
}
API(cuMemHostUnregister)(void* address) {
    return end(address, MemoryOrigin::registered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

API(cuMemHostGetDevicePointer_v2)(CUdeviceptr* result, void* address, unsigned flags) {
    return device_pointer(result, address, flags);
}
API(cuMemHostGetDevicePointer)(CUdeviceptr_v1* result, void* address, unsigned flags) {
    return device_pointer(result, address, flags);
}

API(cuMemHostGetFlags)(unsigned* flags, void* address) {
    if (flags == nullptr || address == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    const MemoryRange* range = find_range(address);
    if (range == nullptr || range->origin != MemoryOrigin::host) return CUDA_ERROR_INVALID_VALUE;
    *flags = range->flags;
    return CUDA_SUCCESS;
}
