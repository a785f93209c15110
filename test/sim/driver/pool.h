// Stream-ordered allocation: pools whose memory goes round among streams without waiting for the host. Freed
// memory may be taken again at once by the stream that freed it, by others once that free has been reached.
// Everything here is used under engine::lock().
#pragma once

#include <list>
#include <map>

#include "memory.h"
#include "work.h"

namespace gpusim::driver {

// A piece of a pool's memory: taken from the device as a whole, and given back as one.
struct Chunk {
    MemoryRange block;
    Point freed;             // what its next use must come after
    uint64_t stream_id = 0;  // the stream that freed it
};

struct Pool {
    Device* device = nullptr;
    bool is_default = false;
    bool destroyed = false;  // lives on until its last allocation is freed
    CUmemPoolProps properties{};
    uint64_t release_threshold = 0;
    int follow_events = 1, opportunistic = 1, internal_dependencies = 1;
    uint64_t used = 0, used_high = 0;
    uint64_t reserved = 0, reserved_high = 0;
    std::map<int, CUmemAccess_flags> access;  // by device, where it is not the pool's own
    std::map<uintptr_t, Chunk> in_use;
    std::list<Chunk> unused;
};

Registry<Pool>& pools();
Pool& default_pool(Device& on);
Pool& current_pool(Device& on);
Pool& make_pool(Device& on, const CUmemPoolProps& properties);
void destroy_pool(Pool& pool);

// 0: out of memory.
uintptr_t take_from_pool(Pool& pool, size_t size_bytes, Stream& stream);
void trim(Pool& pool, size_t keep_bytes);

// Memory for a graph's allocation node: stays the graph's from the moment the node is made until
// `free_graph_memory`. 0: out of memory. AllocWork and FreeWork for it are issued like any other.
CUdeviceptr allocate_graph_memory(const AllocWork& work, Context& context);
void free_graph_memory(CUdeviceptr address);

// An allocation's memory goes back to its pool, to be taken again after `freed`; a stream's id of 0: no
// stream's.
void give_back_to_pool(uintptr_t base, const Point& freed, uint64_t stream_id);

// Synchronising calls and those that ask how much there is do this: pools that hold more than their release
// threshold give back what is free by now.
void release_unused_pool_memory();

// Memory is short on `device`: all pools give back what is free. True if there was anything.
bool squeeze_pools(const Device& device);

}  // namespace gpusim::driver
