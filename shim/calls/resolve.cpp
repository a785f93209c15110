#include "resolve.h"

#include <dlfcn.h>

#include <cerrno>
#include <iterator>

#include "../base/protection.h"
#include "../lifecycle.h"
#include "elf.h"
#include "next.h"
#include "objects.h"

namespace gpushim::shim {

constinit std::atomic<void*> originals[kApis] = {};

namespace {

// One of the libraries whose calls we record, once it is loaded; then kept, so that it stays where it is.
struct Library {
    const char* soname;
    std::atomic<uintptr_t> base;
    std::atomic<const ElfW(Dyn)*> dynamic;  // null: not seen yet; stored last
};
constinit Library libraries[] = {{"libcuda.so", 0, nullptr},
                                 {"libnccl.so", 0, nullptr},
                                 {"libcublas.so", 0, nullptr},
                                 {"libcublasLt.so", 0, nullptr}};
static_assert(std::size(libraries) == static_cast<size_t>(ApiLibrary::count));

constexpr Library& the(ApiLibrary library) { return libraries[static_cast<size_t>(library)]; }
constexpr Library& driver = the(ApiLibrary::driver);
constexpr Library& nccl = the(ApiLibrary::nccl);

bool is_there(Library& library) {
    // Acquire: with the base that was stored before.
    if (library.dynamic.load(std::memory_order_acquire) != nullptr) return true;
    Object found;
    any_object([&](const dl_phdr_info& info) {
        const Object object = described(info);
        if (!begins(file_of(object.path), library.soname) && !says(object, DT_SONAME, library.soname))
            return false;
        found = object;
        return true;
    });
    if (found.dynamic == nullptr) return false;
    // Never closed: a library that went away and came back elsewhere would leave our originals pointing
    // nowhere.
    // The program's next dlerror is not about this.
    if (dlopen(found.path, RTLD_LAZY | RTLD_NOLOAD) == nullptr) dlerror();
    library.base.store(found.base, std::memory_order_relaxed);
    library.dynamic.store(found.dynamic, std::memory_order_release);
    return true;
}

// What the driver has found its functions in, where it is a loader; filled from the front.
struct Part {
    std::atomic<bool> is_taken;
    std::atomic<uintptr_t> base;
    std::atomic<const ElfW(Dyn)*> dynamic;  // null: nothing; stored last
};
constinit Part behind_loader[4] = {};

// Acquire: with the base that was stored before.
template <class Loaded>
void* exported_there(const Loaded& loaded, const char* name) {
    const auto* dynamic = loaded.dynamic.load(std::memory_order_acquire);
    return dynamic != nullptr ? exported_by(loaded.base.load(std::memory_order_relaxed), dynamic, name)
                              : nullptr;
}

// A loader need not export all that there is.
void* exported(Library& library, const char* name) {
    if (!is_there(library)) return nullptr;
    void* found = exported_there(library, name);
    if (found != nullptr || &library != &driver) return found;
    for (const Part& part : behind_loader)
        if (found = exported_there(part, name); found != nullptr) break;
    return found;
}

// NCCL's weak names have strong twins that begin with p.
void* exported(ApiId api) {
    const char* name = api_traits[api].name;
    if (library_of(api) != ApiLibrary::nccl) return exported(the(library_of(api)), name);
    constexpr size_t kLongest = 64;
    char twin[kLongest] = {'p'};
    for (size_t i = 0; name[i] != '\0' && i + 2 < kLongest; ++i) twin[i + 1] = name[i];
    void* found = exported(nccl, twin);
    return found != nullptr ? found : exported(nccl, name);
}

// Somebody other than the library who defines the name and stands behind us: the linker says who is next in
// the scope that the program sees, else (objects opened for themselves) the first there is.
struct Behind {
    void* next;
    void* anywhere;
};

Behind behind_us(const char* name, const Library& library) {
    bool after_us = false;
    void* anywhere = nullptr;
    const uintptr_t library_base = library.base.load(std::memory_order_relaxed);
    any_object([&](const dl_phdr_info& info) {
        if (holds(info, reinterpret_cast<const void*>(&behind_us))) {
            after_us = true;
            return false;
        }
        const Object object = described(info);
        if (!after_us || object.dynamic == nullptr || object.base == library_base) return false;
        anywhere = exported_by(object.base, object.dynamic, name);
        return anywhere != nullptr;
    });
    if (anywhere == nullptr) return {nullptr, nullptr};
    void* next = dlsym_of_libc()(RTLD_NEXT, name);
    if (next == nullptr) dlerror();
    return {next, anywhere};
}

// Whether anybody gets at the library by being linked to it. Where nobody is, a tool's exported names are on
// nobody's way, and what it would find behind itself may be nothing.
bool is_linked(const Library& library) {
    return any_object([&](const dl_phdr_info& info) {
        const Object object = described(info);
        return object.dynamic != nullptr && says(object, DT_NEEDED, library.soname);
    });
}

void* looked_up(ApiId api) {
    const char* name = api_traits[api].name;
    Library& library = the(library_of(api));
    void* own = exported(api);
    const Behind behind = behind_us(name, library);
    // Switched off, we hand out no address: whoever comes here means the name.
    if (behind.next != nullptr && !is_in_library(behind.next) && (is_linked(library) || disabled()))
        return behind.next;
    return own != nullptr ? own : behind.anywhere;
}

}  // namespace

Dlsym dlsym_of_libc() {
    static constinit std::atomic<void*> known = nullptr;
    void* found = known.load(std::memory_order_relaxed);
    if (found == nullptr) {
        any_object([&](const dl_phdr_info& info) {
            const Object object = described(info);
            const char* file = file_of(object.path);
            if (!begins(file, "libc.so") && !begins(file, "libdl.so")) return false;
            found = exported_by(object.base, object.dynamic, "dlsym");
            return found != nullptr;
        });
        known.store(found, std::memory_order_relaxed);
    }
    return reinterpret_cast<Dlsym>(found);
}

void* find_original(ApiId api) {
    const int saved = errno;
    void* found = looked_up(api);
    errno = saved;
    if (found == nullptr) return nullptr;
    void* before = nullptr;
    // Whoever was first decides: a tool that gave its address away in the meantime stays the original.
    return originals[api].compare_exchange_strong(before, found, std::memory_order_acq_rel) ? found : before;
}

const char* soname_of(ApiLibrary library) { return the(library).soname; }
uintptr_t base_of(ApiLibrary library) { return the(library).base.load(std::memory_order_relaxed); }
void* library_export(ApiId api) { return exported(api); }
void* driver_function(const char* name) { return exported(driver, name); }
void* nccl_function(const char* name) { return exported(nccl, name); }
void* cublas_lt_function(const char* name) { return exported(the(ApiLibrary::cublas_lt), name); }
bool is_lacking(ApiId api) {
    if (library_of(api) == ApiLibrary::nccl || (library_of(api) == ApiLibrary::driver && !is_there(driver)))
        return false;
    return original(api) == nullptr;
}
bool driver_is_there() { return is_there(driver); }
bool nccl_is_there() { return is_there(nccl); }

bool in_one_object(const void* a, const void* b) {
    return any_object([&](const dl_phdr_info& info) { return holds(info, a) && holds(info, b); });
}

bool is_ours(const void* address) { return in_one_object(address, reinterpret_cast<const void*>(&is_ours)); }

namespace {

template <class Loaded>
bool is_in(const Loaded& loaded, const void* address) {
    const auto* dynamic = loaded.dynamic.load(std::memory_order_acquire);
    return dynamic != nullptr && in_one_object(address, dynamic);
}

bool is_behind_loader(const void* address) {
    for (const Part& part : behind_loader)
        if (is_in(part, address)) return true;
    return false;
}

}  // namespace

bool is_in_library(const void* address) {
    for (const Library& library : libraries)
        if (is_in(library, address)) return true;
    return is_behind_loader(address);
}

bool is_in_driver(const void* address) {
    // Its constructors look names up before anybody has called it.
    return (is_there(driver) && is_in(driver, address)) || is_behind_loader(address);
}

void driver_has_found(const void* address) {
    if (is_in_library(address) || is_ours(address)) return;
    Object object;
    any_object([&](const dl_phdr_info& info) {
        if (holds(info, address)) object = described(info);
        return object.dynamic != nullptr;
    });
    if (object.dynamic == nullptr) return;
    for (Part& part : behind_loader) {
        // Two threads may take two for one object.
        if (part.is_taken.exchange(true, std::memory_order_relaxed)) continue;
        part.base.store(object.base, std::memory_order_relaxed);
        part.dynamic.store(object.dynamic, std::memory_order_release);
        return;
    }
}

bool is_behind_us(const void* address) {
    bool after_us = false;
    return any_object([&](const dl_phdr_info& info) {
        if (holds(info, reinterpret_cast<const void*>(&is_ours))) {
            after_us = true;
            return false;
        }
        return after_us && holds(info, address);
    });
}

bool second_copy() {
    enum : int { kUnknown, kFirst, kSecond };
    static constinit std::atomic<int> answer = kUnknown;
    int known = answer.load(std::memory_order_relaxed);
    if (known == kUnknown) {
        bool before_us = true;
        const bool second = any_object([&](const dl_phdr_info& info) {
            if (holds(info, reinterpret_cast<const void*>(&is_ours))) before_us = false;
            const Object object = described(info);
            return before_us && object.dynamic != nullptr &&
                   exported_by(object.base, object.dynamic, "gpushim_hits") != nullptr;
        });
        known = second ? kSecond : kFirst;
        answer.store(known, std::memory_order_relaxed);
    }
    return kept(Protection::one_copy) && known == kSecond;
}

bool is_preloaded() { return is_behind_us(reinterpret_cast<const void*>(dlsym_of_libc())) && !second_copy(); }

}  // namespace gpushim::shim
