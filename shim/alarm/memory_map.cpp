#include "memory_map.h"

#include <stdio.h>

#include <algorithm>
#include <memory>

namespace gpushim::shim {

MemoryMap MemoryMap::of_this_process() {
    MemoryMap map;
    const std::unique_ptr<FILE, int (*)(FILE*)> maps(fopen("/proc/self/maps", "re"), fclose);
    char line[4096];
    while (maps != nullptr && fgets(line, sizeof line, maps.get()) != nullptr) map.add(line);
    return map;
}

// "7f31c8a00000-7f31c8b00000 r-xp 00026000 fe:01 1234    /lib/libc.so.6"
void MemoryMap::add(std::string_view line) {
    if (line.ends_with('\n')) line.remove_suffix(1);
    const std::string text(line);
    Mapping mapping;
    char rights[5];
    int name_at = 0;
    if (sscanf(text.c_str(), "%lx-%lx %4s %lx %*s %*s %n", &mapping.from, &mapping.until, rights,
               &mapping.offset, &name_at) != 4)
        return;
    mapping.runs = rights[2] == 'x';
    mapping.file = text.substr(static_cast<size_t>(name_at));
    mappings_.push_back(std::move(mapping));
}

const Mapping* MemoryMap::at(uint64_t address) const {
    const auto found = std::ranges::find_if(mappings_, [address](const Mapping& mapping) {
        return address >= mapping.from && address < mapping.until;
    });
    return found == mappings_.end() ? nullptr : &*found;
}

// A file may be mapped more than once: the one before it in memory.
const Mapping* MemoryMap::begin_of(const Mapping& mapping) const {
    const Mapping* begin = nullptr;
    for (const Mapping& other : mappings_)
        if (other.from <= mapping.from && other.offset == 0 && other.file == mapping.file) begin = &other;
    return mapping.file.empty() ? nullptr : begin;
}

std::string MemoryMap::place(uint64_t address) const {
    const Mapping* const mapping = at(address);
    if (mapping == nullptr) return {};
    char offset[32];
    snprintf(offset, sizeof offset, "+0x%lx", address - mapping->from + mapping->offset);
    const std::string& file = mapping->file;
    return (file.empty() ? "(no file)" : file.substr(file.rfind('/') + 1)) + offset;
}

}  // namespace gpushim::shim
