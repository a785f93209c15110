// The objects of the process, as the dynamic linker lists them, under its lock. Any thread.
#pragma once

#include <link.h>

#include <cstddef>

namespace gpushim::shim {

struct Object {
    ElfW(Addr) base = 0;
    const ElfW(Dyn) * dynamic = nullptr;
    const char* path = nullptr;
};

inline Object described(const dl_phdr_info& info) {
    Object object = {info.dlpi_addr, nullptr, info.dlpi_name};
    for (int i = 0; i < info.dlpi_phnum; ++i)
        if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
            object.dynamic = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    return object;
}

inline bool holds(const dl_phdr_info& info, const void* address) {
    const auto at = reinterpret_cast<ElfW(Addr)>(address) - info.dlpi_addr;
    for (int i = 0; i < info.dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = info.dlpi_phdr[i];
        if (segment.p_type == PT_LOAD && at >= segment.p_vaddr && at - segment.p_vaddr < segment.p_memsz)
            return true;
    }
    return false;
}

// Visits the loaded objects in the linker's order, under its lock, until `visit` returns true.
template <class Visit>
bool any_object(Visit visit) {
    return dl_iterate_phdr([](dl_phdr_info* info, size_t,
                              void* data) { return (*static_cast<Visit*>(data))(*info) ? 1 : 0; },
                           &visit) != 0;
}

inline const char* file_of(const char* path) {
    const char* file = path;
    for (const char* c = path; *c != '\0'; ++c)
        if (*c == '/') file = c + 1;
    return file;
}

inline bool begins(const char* text, const char* with) {
    for (; *with != '\0'; ++text, ++with)
        if (*text != *with) return false;
    return true;
}

// What the object's first entry of that kind is that begins so: what it calls itself (DT_SONAME), or what it
// needs (DT_NEEDED). Null: none does.
inline const char* said(const Object& object, ElfW(Sxword) tag, const char* begin) {
    const char* strings = nullptr;
    for (const ElfW(Dyn)* d = object.dynamic; d != nullptr && d->d_tag != DT_NULL; ++d)
        if (d->d_tag == DT_STRTAB)
            strings = reinterpret_cast<const char*>(d->d_un.d_ptr < object.base ? d->d_un.d_ptr + object.base
                                                                                : d->d_un.d_ptr);
    for (const ElfW(Dyn)* d = object.dynamic; strings != nullptr && d->d_tag != DT_NULL; ++d)
        if (d->d_tag == tag && begins(strings + d->d_un.d_val, begin)) return strings + d->d_un.d_val;
    return nullptr;
}
inline bool says(const Object& object, ElfW(Sxword) tag, const char* begin) {
    return said(object, tag, begin) != nullptr;
}

}  // namespace gpushim::shim
