#include "hide_export.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace gpusim {
namespace {

const ElfW(Dyn) * entry(const link_map* library, ElfW(Sxword) tag) {
    for (const ElfW(Dyn)* d = library->l_ld; d->d_tag != DT_NULL; ++d)
        if (d->d_tag == tag) return d;
    return nullptr;
}

// The loader finds defined names through the GNU hash; its chains also tell how many symbols there are.
size_t symbol_count(const uint32_t* hash) {
    const uint32_t buckets = hash[0], first = hash[1], bloom_words = hash[2];
    const auto* bucket = hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const auto* chain = bucket + buckets;
    uint32_t last = 0;
    for (uint32_t b = 0; b < buckets; ++b) last = bucket[b] > last ? bucket[b] : last;
    if (last < first) return first;
    while ((chain[last - first] & 1U) == 0) ++last;
    return last + 1;
}

// The table lies in a read-only segment; a name whose value is zero is passed over by every look-up.
void erase(ElfW(Sym) * symbol) {
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto address = reinterpret_cast<uintptr_t>(symbol);
    void* const start = reinterpret_cast<void*>(address & ~(page - 1));
    const size_t length = (address & (page - 1)) + sizeof(*symbol);
    if (mprotect(start, length, PROT_READ | PROT_WRITE) != 0) return;
    symbol->st_value = 0;
    symbol->st_shndx = SHN_UNDEF;
    mprotect(start, length, PROT_READ);
}

}  // namespace

bool hide_export(const void* inside, const char* name) {
    Dl_info info;
    link_map* library = nullptr;
    if (dladdr1(inside, &info, reinterpret_cast<void**>(&library), RTLD_DL_LINKMAP) == 0) return false;
    const auto* symbols = entry(library, DT_SYMTAB);
    const auto* strings = entry(library, DT_STRTAB);
    const auto* hash = entry(library, DT_GNU_HASH);
    if (symbols == nullptr || strings == nullptr || hash == nullptr) return false;
    auto* table = reinterpret_cast<ElfW(Sym)*>(symbols->d_un.d_ptr);
    const auto* text = reinterpret_cast<const char*>(strings->d_un.d_ptr);
    const size_t count = symbol_count(reinterpret_cast<const uint32_t*>(hash->d_un.d_ptr));
    for (size_t i = 0; i < count; ++i) {
        if (table[i].st_value == 0 || std::strcmp(text + table[i].st_name, name) != 0) continue;
        erase(&table[i]);
        return true;
    }
    return false;
}

}  // namespace gpusim
