// Copies, memsets and allocations: what lies at an address says what a copy was. The writer's thread only.
#pragma once

#include "ranges.h"
#include "row_maker.h"

namespace gpushim::shim {

class MemoryRows : RowMaker {
  public:
    explicit MemoryRows(Known& known) : RowMaker(known) {}
    void load(Database& base);
    void copy(const Call& call);
    void memset(const Call& call);
    void memory(const Call& call);
    void end_of_batch(int64_t remembered_from_ns);

    // Whether what was allocated by that row is held still: then load() needs it.
    bool is_held(int64_t api_id, uint64_t address, int64_t enter_ns) const;

  private:
    enum class Side : uint8_t { any, host, device, array };  // what the call itself says
    static Side side_of(const Call& call, bool target);
    Memory side(const Call& call, uint64_t address, Side what) const;
    bool are_peers(uint64_t target, uint64_t source, int64_t time_ns) const;
    struct Change {
        Memory memory;
        bool counted;
        uint32_t context;
        int64_t bytes;
        int64_t pool_id;
        int64_t allocated_ns;
    };
    Change allocated(const Call& call, uint32_t kind);
    Change freed(const Call& call, uint32_t kind);
    void add_peaks();
    void out_of_memory(const Call& call);

    AddressRanges ranges_;
    int64_t failed_ = 0;  // allocations for which there was no memory
};

}  // namespace gpushim::shim
