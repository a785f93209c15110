// Virtual memory management: addresses are reserved, memory is made, and the two are brought together by
// mapping. Each piece of memory is a file of its own, so it can be mapped anywhere, often, and passed on as a
// descriptor. Access is per process here: a device that was given none is not kept out.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "engine/box_state.h"
#include "memory.h"
#include "work.h"

using namespace gpusim;
using namespace gpusim::driver;

namespace {

constexpr size_t kGranularity = 2u << 20;

struct Piece {
    CUmemAllocationProp properties{};
    size_t size_bytes = 0;
    int file = -1;
    int references = 1;  // handles
    int mappings = 0;
    bool counted = true;  // against the device: what came from another process is counted there
};

struct Mapping {
    size_t size_bytes = 0;
    Piece* piece = nullptr;
    std::map<int, CUmemAccess_flags> access;  // by device
};

Registry<Piece>& pieces() {
    static auto* const made = new Registry<Piece>;
    return *made;
}

std::map<uintptr_t, size_t>& reservations() {
    static auto* const made = new std::map<uintptr_t, size_t>;
    return *made;
}

std::map<uintptr_t, Mapping>& mappings() {
    static auto* const made = new std::map<uintptr_t, Mapping>;
    return *made;
}

bool is_granular(uint64_t number) { return number % kGranularity == 0; }

bool lies_in_reservation(uintptr_t address, size_t size_bytes) {
    auto after = reservations().upper_bound(address);
    if (after == reservations().begin()) return false;
    const auto& [base, reserved_bytes] = *std::prev(after);
    return address + size_bytes <= base + reserved_bytes;
}

void release_if_unused(Piece& piece) {
    if (piece.references > 0 || piece.mappings > 0) return;
    if (piece.counted)
        box::return_memory(piece.properties.location.id, static_cast<int64_t>(piece.size_bytes));
    close(piece.file);
    pieces().destroy(&piece);
}

CUresult check(const CUmemAllocationProp* properties) {
    if (properties == nullptr || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
    if (device(properties->location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    const unsigned other_handles = static_cast<unsigned>(properties->requestedHandleTypes) &
                                   ~unsigned{CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
    return other_handles == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUmemGenericAllocationHandle handle_of(Piece* piece) {
    return reinterpret_cast<CUmemGenericAllocationHandle>(piece);
}

// The mapping in which `address` lies; end() where there is none.
std::map<uintptr_t, Mapping>::iterator mapping_at(uintptr_t address) {
    auto after = mappings().upper_bound(address);
    if (after == mappings().begin()) return mappings().end();
    --after;
    return address - after->first < after->second.size_bytes ? after : mappings().end();
}

bool any_mapped(uintptr_t address, size_t size_bytes) {
    const auto next = mappings().lower_bound(address);
    return mapping_at(address) != mappings().end() ||
           (next != mappings().end() && next->first < address + size_bytes);
}

int protection(CUmemAccess_flags flags) {
    return flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ? PROT_NONE : PROT_READ | PROT_WRITE;
}

// Calls `visit` for each mapping in [address, address + size); false unless they fill it exactly.
template <class Visit>
bool each_mapping(uintptr_t address, size_t size_bytes, Visit visit) {
    for (const uintptr_t end = address + size_bytes; address < end;) {
        const auto found = mappings().find(address);
        if (found == mappings().end() || address + found->second.size_bytes > end) return false;
        address += found->second.size_bytes;
        visit(found);
    }
    return true;
}

void unmap(std::map<uintptr_t, Mapping>::iterator mapping) {
    const auto& [base, m] = *mapping;
    mmap(reinterpret_cast<void*>(base), m.size_bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    --m.piece->mappings;
    release_if_unused(*m.piece);
    remove_range(base);
    mappings().erase(mapping);
}

uintptr_t reserve(size_t size_bytes, size_t alignment) {
    const size_t slack = std::max(alignment, kGranularity);
    void* at =
        mmap(nullptr, size_bytes + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return 0;
    const auto start = reinterpret_cast<uintptr_t>(at);
    const uintptr_t base = (start + slack - 1) / slack * slack;
    if (base > start) munmap(at, base - start);
    if (start + slack > base) munmap(reinterpret_cast<void*>(base + size_bytes), start + slack - base);
    return base;
}

}  // namespace

API(cuMemGetAllocationGranularity)
(size_t* granularity, const CUmemAllocationProp* properties, CUmemAllocationGranularity_flags option) {
    if (granularity == nullptr || option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
        return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    RETURN_IF_FAILED(check(properties));
    *granularity = kGranularity;
    return CUDA_SUCCESS;
}

// An address that is asked for is only a wish.
API(cuMemAddressReserve)
(CUdeviceptr* address, size_t size_bytes, size_t alignment, CUdeviceptr, unsigned long long flags) {
    const bool aligned = (alignment & (alignment - 1)) == 0;
    if (address == nullptr || size_bytes == 0 || !is_granular(size_bytes) || !aligned || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    const uintptr_t base = size_bytes > SIZE_MAX / 4 ? 0 : reserve(size_bytes, alignment);
    if (base == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    reservations()[base] = size_bytes;
    *address = base;
    return CUDA_SUCCESS;
}

API(cuMemAddressFree)(CUdeviceptr address, size_t size_bytes) {
    const auto held = engine::lock();
    const auto found = reservations().find(address);
    if (found == reservations().end() || found->second != size_bytes || any_mapped(address, size_bytes))
        return CUDA_ERROR_INVALID_VALUE;
    munmap(reinterpret_cast<void*>(address), size_bytes);
    reservations().erase(found);
    return CUDA_SUCCESS;
}

API(cuMemCreate)
(CUmemGenericAllocationHandle* handle, size_t size_bytes, const CUmemAllocationProp* properties,
 unsigned long long flags) {
    if (handle == nullptr || size_bytes == 0 || !is_granular(size_bytes) || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    RETURN_IF_FAILED(check(properties));
    const int ordinal = properties->location.id;
    if (size_bytes > INT64_MAX || !box::take_memory(ordinal, static_cast<int64_t>(size_bytes)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    const int file = memfd_create("gpusim-memory", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(size_bytes)) != 0) {
        if (file >= 0) close(file);
        box::return_memory(ordinal, static_cast<int64_t>(size_bytes));
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    Piece* piece = pieces().make();
    piece->properties = *properties;
    piece->size_bytes = size_bytes;
    piece->file = file;
    *handle = handle_of(piece);
    return CUDA_SUCCESS;
}

API(cuMemRelease)(CUmemGenericAllocationHandle handle) {
    const auto held = engine::lock();
    Piece* piece = pieces().find(handle);
    if (piece == nullptr || piece->references == 0) return CUDA_ERROR_INVALID_VALUE;
    --piece->references;
    release_if_unused(*piece);
    return CUDA_SUCCESS;
}

API(cuMemMap)
(CUdeviceptr address, size_t size_bytes, size_t offset, CUmemGenericAllocationHandle handle,
 unsigned long long flags) {
    const auto held = engine::lock();
    Piece* piece = pieces().find(handle);
    if (piece == nullptr || size_bytes == 0 || offset != 0 || flags != 0 || size_bytes != piece->size_bytes ||
        !is_granular(address) || !lies_in_reservation(address, size_bytes) || any_mapped(address, size_bytes))
        return CUDA_ERROR_INVALID_VALUE;
    // Copies move bytes whether access was given or not, so no access must end in an error, not in a signal.
    void* at =
        mmap(reinterpret_cast<void*>(address), size_bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, piece->file, 0);
    if (at == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    ++piece->mappings;
    mappings()[address] = {size_bytes, piece, {}};
    return CUDA_SUCCESS;
}

API(cuMemUnmap)(CUdeviceptr address, size_t size_bytes) {
    auto held = engine::lock();
    const auto nothing = [](auto) {};
    if (size_bytes == 0 || !each_mapping(address, size_bytes, nothing)) return CUDA_ERROR_INVALID_VALUE;
    MemoryRange range;
    range.kind = MemoryKind::managed;  // whichever device may use it
    wait_for_users(range, held);
    return each_mapping(address, size_bytes, unmap) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Memory is memory to the driver from the moment somebody may access it.
API(cuMemSetAccess)(CUdeviceptr address, size_t size_bytes, const CUmemAccessDesc* wanted, size_t count) {
    if (wanted == nullptr || count == 0 || size_bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    for (size_t i = 0; i < count; ++i) {
        const CUmemAccessDesc& one = wanted[i];
        if (one.location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
        if (device(one.location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        const auto give = [&](auto mapping) {
            auto& [base, m] = *mapping;
            m.access[one.location.id] = one.flags;
            mprotect(reinterpret_cast<void*>(base), m.size_bytes, protection(one.flags));
            MemoryRange range;
            range.kind = MemoryKind::device;
            range.origin = MemoryOrigin::mapped;
            range.device = m.piece->properties.location.id;
            range.base = base;
            range.size_bytes = m.size_bytes;
            if (find_range(base) == nullptr) add_range(range);
            if (one.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) remove_range(base);
        };
        if (!each_mapping(address, size_bytes, give)) return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

API(cuMemGetAccess)(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
    if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    const auto found = mapping_at(address);
    if (found == mappings().end() || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    const auto given = found->second.access.find(location->id);
    *flags = given != found->second.access.end() ? given->second : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
}

API(cuMemRetainAllocationHandle)(CUmemGenericAllocationHandle* handle, void* address) {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    const auto found = mapping_at(reinterpret_cast<uintptr_t>(address));
    if (found == mappings().end()) return CUDA_ERROR_INVALID_VALUE;
    ++found->second.piece->references;
    *handle = handle_of(found->second.piece);
    return CUDA_SUCCESS;
}

API(cuMemExportToShareableHandle)
(void* result, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
 unsigned long long flags) {
    if (result == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    const Piece* piece = pieces().find(handle);
    if (piece == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    if ((piece->properties.requestedHandleTypes & type) == 0) return CUDA_ERROR_INVALID_VALUE;
    const int file = dup(piece->file);
    if (file < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    *static_cast<int*>(result) = file;
    return CUDA_SUCCESS;
}

// The descriptor says how large the memory is, not on which device: it is taken to be on the current one.
API(cuMemImportFromShareableHandle)
(CUmemGenericAllocationHandle* handle, void* descriptor, CUmemAllocationHandleType type) {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    const auto held = engine::lock();
    const Context* context = current_context();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    struct stat about;
    const int file = dup(static_cast<int>(reinterpret_cast<intptr_t>(descriptor)));
    if (file < 0 || fstat(file, &about) != 0 || about.st_size == 0 ||
        !is_granular(static_cast<uint64_t>(about.st_size))) {
        if (file >= 0) close(file);
        return CUDA_ERROR_INVALID_VALUE;
    }
    Piece* piece = pieces().make();
    piece->properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    piece->properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    piece->properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, context->device->ordinal};
    piece->size_bytes = static_cast<size_t>(about.st_size);
    piece->file = file;
    piece->counted = false;
    *handle = handle_of(piece);
    return CUDA_SUCCESS;
}
