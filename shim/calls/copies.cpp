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

// Two threads may add one object twice: it is found all the same. Where all places are taken, its callers are
// asked about each time.
void remember(ApiLibrary library, const Extent& object) {
    for (KnownCaller& one : known_callers[static_cast<size_t>(library)]) {
        uintptr_t nobody = 0;
        if (!one.from.compare_exchange_strong(nobody, object.from)) continue;
        one.size.store(object.size, std::memory_order_release);
        return;
    }
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

bool is_copy_of(const Object& object, ApiLibrary library) {
    return begins(file_of(object.path), soname_of(library)) || says(object, DT_SONAME, soname_of(library));
}

}  // namespace

void* original_of_caller(ApiId api, const void* caller, void* original) {
    const ApiLibrary library = library_of(api);
    const Caller found = caller_at(caller);
    if (found.object.dynamic == nullptr) return original;
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
