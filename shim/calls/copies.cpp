#include "copies.h"

#include "elf.h"
#include "objects.h"

namespace gpushim::shim {

constinit KnownCaller known_callers[static_cast<size_t>(ApiLibrary::count)][kKnownCallers] = {};

namespace {

struct Extent {
    uintptr_t from = 0, size = 0;
};

Extent extent_of(const dl_phdr_info& info) {
    uintptr_t from = UINTPTR_MAX, until = 0;
    for (int i = 0; i < info.dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = info.dlpi_phdr[i];
        if (segment.p_type != PT_LOAD) continue;
        from = segment.p_vaddr < from ? segment.p_vaddr : from;
        until = segment.p_vaddr + segment.p_memsz > until ? segment.p_vaddr + segment.p_memsz : until;
    }
    return {info.dlpi_addr + from, until - from};
}

constexpr size_t kLibraries = static_cast<size_t>(ApiLibrary::count);
// Some callers have no place in known_callers: code that was made at run time is in no object, or all are
// taken.
constinit std::atomic<bool> has_strangers[kLibraries] = {};
// How often objects had come and gone when copies were counted, twice; and one more where there was one
// alone.
constinit std::atomic<uint64_t> counted_at[kLibraries] = {};

bool is_copy_of(const Object& object, ApiLibrary library) {
    return begins(file_of(object.path), soname_of(library)) || says(object, DT_SONAME, soname_of(library));
}

// Looks at all objects only where some have come or gone since.
bool is_only_copy(ApiLibrary library) {
    uint64_t changes = 0;
    any_object([&](const dl_phdr_info& info) {
        changes = info.dlpi_adds + info.dlpi_subs;
        return true;
    });
    std::atomic<uint64_t>& counted = counted_at[static_cast<size_t>(library)];
    if (const uint64_t before = counted.load(std::memory_order_relaxed); before >> 1 == changes)
        return (before & 1) != 0;
    int copies = 0;
    any_object([&](const dl_phdr_info& info) {
        copies += is_copy_of(described(info), library);
        return false;
    });
    counted.store(changes << 1 | (copies == 1), std::memory_order_relaxed);
    return copies == 1;
}

// Two threads may add one object twice: it is found all the same.
void remember(ApiLibrary library, const Extent& object) {
    for (KnownCaller& one : known_callers[static_cast<size_t>(library)]) {
        uintptr_t nobody = 0;
        if (!one.from.compare_exchange_strong(nobody, object.from)) continue;
        one.size.store(object.size, std::memory_order_release);
        return;
    }
    has_strangers[static_cast<size_t>(library)].store(true, std::memory_order_relaxed);
}

struct Caller {
    Object object;
    Extent extent;
};

Caller caller_at(const void* address) {
    Caller found;
    any_object([&](const dl_phdr_info& info) {
        if (!holds(info, address)) return false;
        found = {described(info), extent_of(info)};
        return true;
    });
    return found;
}

// The object that calls itself exactly so.
Object called(const char* soname) {
    Object found;
    any_object([&](const dl_phdr_info& info) {
        const Object object = described(info);
        const char* own = said(object, DT_SONAME, soname);
        if (own == nullptr || !same_text(own, soname)) return false;
        found = object;
        return true;
    });
    return found;
}

}  // namespace

void* original_of_caller(ApiId api, const void* caller, void* original) {
    const ApiLibrary library = library_of(api);
    std::atomic<bool>& strangers = has_strangers[static_cast<size_t>(library)];
    if (strangers.load(std::memory_order_relaxed) && is_only_copy(library)) return original;
    const Caller found = caller_at(caller);
    if (found.object.dynamic == nullptr) {
        strangers.store(true, std::memory_order_relaxed);
        return original;
    }
    // A copy calls itself, too.
    const char* needed = said(found.object, DT_NEEDED, soname_of(library));
    const Object copy = is_copy_of(found.object, library) ? found.object
                        : needed != nullptr               ? called(needed)
                                                          : Object{};
    if (copy.dynamic == nullptr || copy.base == base_of(library)) {
        remember(library, found.extent);
        return original;
    }
    void* const its_own = exported_by(copy.base, copy.dynamic, api_traits[api].name);
    return its_own != nullptr ? its_own : original;
}

bool is_in_other_copy(ApiId api, const void* address) {
    if (library_of(api) == ApiLibrary::driver) return false;
    const Object object = caller_at(address).object;
    return object.dynamic != nullptr && is_copy_of(object, library_of(api)) &&
           object.base != base_of(library_of(api));
}

}  // namespace gpushim::shim
