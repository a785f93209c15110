// Events of NCCL that are under way: each has a place in a table, and a handle that NCCL gives back. Any
// thread; no lock, no allocation. One thread at a time has to do with a place, which is NCCL's own order.
#pragma once

#include <atomic>
#include <cstdint>

#include "../ring/nccl_view.h"
#include "../ring/ring_format.h"

namespace gpushim::shim {

struct alignas(64) NcclPlace {
    std::atomic<uint64_t> handle;   // 0: free
    std::atomic<uint64_t> context;  // number of the communicator; 0: free, or another process's
    uint64_t started;               // ticks
    uint64_t parent;
    uint64_t what;   // the second word of its event
    uint64_t value;  // count of values; GPU's time at the start; of a step: when its state began
    uint64_t more;   // sequence; GPU's time at the end
    uint64_t bytes;
    uint64_t waited[kNcclWaits];  // ticks
    uint32_t steps;
    int state;  // of a step
    EventKind kind;
    bool is_step;
};

// Null: there is none; counted. The rest of the place is empty. A handle is never used again, so what is told
// of an event that is over can name it.
NcclPlace* take_place(void** handle, uint64_t context);

// Null: not from take_place, or over. NCCL may stop an event twice.
NcclPlace* find_place(const void* handle);

void free_place(NcclPlace& place);

// What NCCL never stopped, as it does when a communicator is aborted; counted.
void free_places_of(uint64_t context);

uint64_t nccl_events_left_out();

}  // namespace gpushim::shim
