// What is mapped into this process, of one moment, by /proc/self/maps: which file an address is of. Without
// the loader, whose lock a thread that is stuck may have. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpushim::shim {

struct Mapping {
    uint64_t from = 0, until = 0, offset = 0;  // offset: in its file
    bool runs = false;                         // it may be run
    std::string file;                          // empty: none
};

class MemoryMap {
  public:
    static MemoryMap of_this_process();
    void add(std::string_view line);  // of /proc/PID/maps, in its order

    const Mapping* at(uint64_t address) const;              // null: nothing is mapped there
    const Mapping* begin_of(const Mapping& mapping) const;  // where its file's first byte is; null: nowhere
    std::string place(uint64_t address) const;              // file+offset; empty: nothing is mapped there

  private:
    std::vector<Mapping> mappings_;
};

}  // namespace gpushim::shim
