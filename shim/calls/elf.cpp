#include "elf.h"

// This object's own dynamic section.
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

namespace gpushim::shim {
namespace {

struct Tables {
    const char* strings = nullptr;
    const ElfW(Sym) * symbols = nullptr;
    const uint32_t* gnu_hash = nullptr;
    const uint32_t* sysv_hash = nullptr;
    const ElfW(Half) * versions = nullptr;
};

Tables tables_of(ElfW(Addr) base, const ElfW(Dyn) * dynamic) {
    Tables tables;
    for (const ElfW(Dyn)* d = dynamic; d->d_tag != DT_NULL; ++d) {
        // glibc has made these addresses absolute, but not in objects whose dynamic section is read-only.
        const ElfW(Addr) at = d->d_un.d_ptr < base ? d->d_un.d_ptr + base : d->d_un.d_ptr;
        switch (d->d_tag) {
            case DT_STRTAB:
                tables.strings = reinterpret_cast<const char*>(at);
                break;
            case DT_SYMTAB:
                tables.symbols = reinterpret_cast<const ElfW(Sym)*>(at);
                break;
            case DT_GNU_HASH:
                tables.gnu_hash = reinterpret_cast<const uint32_t*>(at);
                break;
            case DT_HASH:
                tables.sysv_hash = reinterpret_cast<const uint32_t*>(at);
                break;
            case DT_VERSYM:
                tables.versions = reinterpret_cast<const ElfW(Half)*>(at);
                break;
            default:
                break;
        }
    }
    return tables;
}

bool is(const Tables& tables, uint32_t index, const char* name) {
    const ElfW(Sym)& symbol = tables.symbols[index];
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) return false;
    const int type = symbol.st_info & 0xf;
    if (type == STT_TLS || type == STT_GNU_IFUNC) return false;
    // An old version of a name, kept for programs linked against it, is not what a plain look-up finds.
    if (tables.versions != nullptr && (tables.versions[index] & 0x8000) != 0) return false;
    return same_text(tables.strings + symbol.st_name, name);
}

uint32_t gnu_hash(const char* name) {
    uint32_t hash = 5381;
    for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
    return hash;
}

uint32_t sysv_hash(const char* name) {
    uint32_t hash = 0;
    for (; *name != '\0'; ++name) {
        hash = (hash << 4) + static_cast<unsigned char>(*name);
        const uint32_t high = hash & 0xf0000000;
        hash = (hash ^ (high >> 24)) & ~high;
    }
    return hash;
}

uint32_t find_gnu(const Tables& tables, const char* name) {
    const uint32_t buckets = tables.gnu_hash[0], first = tables.gnu_hash[1], words = tables.gnu_hash[2],
                   shift = tables.gnu_hash[3];
    if (buckets == 0) return 0;
    const auto* bloom = reinterpret_cast<const ElfW(Addr)*>(tables.gnu_hash + 4);
    const auto* bucket = reinterpret_cast<const uint32_t*>(bloom + words);
    const uint32_t* chain = bucket + buckets;
    constexpr uint32_t kBits = sizeof(ElfW(Addr)) * 8;

    const uint32_t hash = gnu_hash(name);
    const ElfW(Addr) word = bloom[hash / kBits % words];
    if ((word >> (hash % kBits) & word >> ((hash >> shift) % kBits) & 1) == 0) return 0;
    uint32_t index = bucket[hash % buckets];
    if (index < first) return 0;
    for (;; ++index) {
        const uint32_t other = chain[index - first];
        if ((other | 1) == (hash | 1) && is(tables, index, name)) return index;
        if ((other & 1) != 0) return 0;
    }
}

uint32_t find_sysv(const Tables& tables, const char* name) {
    const uint32_t buckets = tables.sysv_hash[0];
    if (buckets == 0) return 0;
    const uint32_t* bucket = tables.sysv_hash + 2;
    const uint32_t* chain = bucket + buckets;
    for (uint32_t index = bucket[sysv_hash(name) % buckets]; index != 0; index = chain[index])
        if (is(tables, index, name)) return index;
    return 0;
}

const link_map* ourselves() {
    for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next)
        if (map->l_ld == _DYNAMIC) return map;
    return nullptr;
}

// Objects are mapped in one piece each, so an address belongs to the one that begins last before it.
const link_map* holder_of(const void* address) {
    const link_map* holder = nullptr;
    for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next)
        if (map->l_addr <= reinterpret_cast<ElfW(Addr)>(address) &&
            (holder == nullptr || map->l_addr >= holder->l_addr))
            holder = map;
    return holder;
}

}  // namespace

bool same_text(const char* a, const char* b) {
    for (; *a == *b; ++a, ++b)
        if (*a == '\0') return true;
    return false;
}

void* exported_by(ElfW(Addr) base, const ElfW(Dyn) * dynamic, const char* name) {
    const Tables tables = tables_of(base, dynamic);
    if (tables.strings == nullptr || tables.symbols == nullptr) return nullptr;
    uint32_t index = 0;
    if (tables.gnu_hash != nullptr) {
        index = find_gnu(tables, name);
    } else if (tables.sysv_hash != nullptr) {
        index = find_sysv(tables, name);
    }
    return index != 0 ? reinterpret_cast<void*>(base + tables.symbols[index].st_value) : nullptr;
}

void* defined_after_us(const char* name) {
    const link_map* map = ourselves();
    for (map = map != nullptr ? map->l_next : nullptr; map != nullptr; map = map->l_next)
        if (void* found = exported_by(map->l_addr, map->l_ld, name)) return found;
    return nullptr;
}

bool asks_past_nobody_but_us(const void* address, const char* name) {
    const link_map* us = ourselves();
    const link_map* map = holder_of(address);
    if (map == nullptr || map == us) return false;
    for (map = map->l_next; map != nullptr; map = map->l_next) {
        if (map == us) return true;
        if (exported_by(map->l_addr, map->l_ld, name) != nullptr) return false;
    }
    return false;
}

}  // namespace gpushim::shim
