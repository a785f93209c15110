#include "exported.h"

#include <link.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "own_memory.h"

namespace gpushim::shim {
namespace {

constexpr int kMostObjects = 4096;
constexpr size_t kMostDynamic = 256;
constexpr uint64_t kLeastPage = 4096;
constexpr uint32_t kMostInBucket = 4096;
constexpr size_t kMostName = 64;
constexpr char kLibrary[] = "libpython";

struct Tables {
    uint64_t base = 0, strings = 0, symbols = 0, hash = 0;
};

// Up to its end, a page at a time: what lies behind it need not be there.
template <class F>
void for_each_dynamic(const link_map& map, F visit) {
    std::array<ElfW(Dyn), kLeastPage / sizeof(ElfW(Dyn))> piece;
    auto at = reinterpret_cast<uint64_t>(map.l_ld);
    for (size_t seen = 0; seen < kMostDynamic;) {
        const size_t count = std::max<size_t>((kLeastPage - at % kLeastPage) / sizeof piece[0], 1);
        if (!read_own(at, piece.data(), count * sizeof piece[0])) return;
        for (size_t i = 0; i < count; ++i) {
            if (piece[i].d_tag == DT_NULL) return;
            visit(piece[i]);
        }
        at += count * sizeof piece[0];
        seen += count;
    }
}

Tables tables_of(const link_map& map) {
    Tables tables;
    tables.base = map.l_addr;
    for_each_dynamic(map, [&](const ElfW(Dyn) & entry) {
        // glibc has made these addresses absolute, but not in objects whose dynamic section is read-only.
        const uint64_t value =
            entry.d_un.d_ptr < map.l_addr ? entry.d_un.d_ptr + map.l_addr : entry.d_un.d_ptr;
        if (entry.d_tag == DT_STRTAB) tables.strings = value;
        if (entry.d_tag == DT_SYMTAB) tables.symbols = value;
        if (entry.d_tag == DT_GNU_HASH) tables.hash = value;
    });
    return tables;
}

uint32_t gnu_hash(const char* name) {
    uint32_t hash = 5381;
    for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
    return hash;
}

// The address that the symbol stands for, if it is that one and defined here.
uint64_t value_of(const Tables& tables, uint32_t index, const char* name) {
    ElfW(Sym) symbol;
    char text[kMostName];
    const size_t size = std::strlen(name) + 1;
    if (!read_own(tables.symbols + index * sizeof symbol, symbol) || symbol.st_shndx == SHN_UNDEF) return 0;
    if (!read_own(tables.strings + symbol.st_name, text, size) || std::memcmp(text, name, size) != 0)
        return 0;
    return tables.base + symbol.st_value;
}

uint64_t find(const Tables& tables, const char* name) {
    struct {
        uint32_t buckets, first_symbol, filter_words, filter_shift;
    } head;
    if (tables.hash == 0 || tables.strings == 0 || tables.symbols == 0) return 0;
    if (!read_own(tables.hash, head) || head.buckets == 0) return 0;
    const uint32_t hash = gnu_hash(name);
    const uint64_t buckets = tables.hash + sizeof head + uint64_t{head.filter_words} * sizeof(ElfW(Addr));
    const uint64_t chain = buckets + uint64_t{head.buckets} * 4;
    uint32_t index = 0;
    if (!read_own(buckets + uint64_t{hash % head.buckets} * 4, index) || index < head.first_symbol) return 0;
    for (uint32_t i = 0; i < kMostInBucket; ++i, ++index) {
        uint32_t link = 0;
        if (!read_own(chain + uint64_t{index - head.first_symbol} * 4, link)) return 0;
        if ((link | 1) == (hash | 1))
            if (const uint64_t found = value_of(tables, index, name)) return found;
        if ((link & 1) != 0) return 0;
    }
    return 0;
}

bool is_library_of_python(const link_map& map) {
    char path[4096] = {};
    const auto at = reinterpret_cast<uint64_t>(map.l_name);
    // A text ends somewhere on its page or a later one: read up to the end of each, as long as one is there.
    for (size_t read = 0; read < sizeof path - 1;) {
        const size_t piece = std::min<size_t>(256 - (at + read) % 256, sizeof path - 1 - read);
        if (!read_own(at + read, path + read, piece)) return false;
        if (std::memchr(path + read, 0, piece) != nullptr) break;
        read += piece;
    }
    const char* slash = std::strrchr(path, '/');
    return std::strncmp(slash != nullptr ? slash + 1 : path, kLibrary, sizeof kLibrary - 1) == 0;
}

// The executable first: it may have copies of what a library defines.
PythonExports exports_of(const Tables& program, const Tables& python) {
    const auto found = [&](const char* name) {
        const uint64_t in_program = find(program, name);
        return in_program != 0 ? in_program : find(python, name);
    };
    return {found("_PyRuntime"),     found("Py_Version"),       found("PyCode_Type"),
            found("PyUnicode_Type"), found("PyIter_Send") != 0, found("PyFrame_GetBack") != 0};
}

}  // namespace

PythonExports find_python_exports() {
    auto at = reinterpret_cast<uint64_t>(_r_debug.r_map);
    Tables program;
    for (int i = 0; i < kMostObjects && at != 0; ++i) {
        link_map map;
        if (!read_own(at, map)) break;
        if (i == 0) program = tables_of(map);
        if (i == 0 ? find(program, "_PyRuntime") != 0 : is_library_of_python(map))
            return exports_of(program, tables_of(map));
        at = reinterpret_cast<uint64_t>(map.l_next);
    }
    return {};
}

}  // namespace gpushim::shim
