// NCCL's own view of what it does: we are a profiler plug-in of it where the program has none, and only where
// GPUSHIM_NCCL_PROFILER asks for it. Its callbacks run on the program's threads and on NCCL's: no lock, no
// allocation, one slot in the ring for each operation, channel, and channel of a peer. What is under way
// stands in a table of 4096 places.
//
//   start-up      offer_to_nccl: NCCL_PROFILER_PLUGIN=static_plugin goes into the environment
//   ncclCommInit  NCCL opens "the program itself" and asks our dlsym for ncclProfiler_v6, _v5, …
//                 nccl_plugin_of: the program's own plug-in, where one would have been found without us;
//                 else our functions
//   later         NCCL calls those functions, whatever we do: they see that nothing is recorded, after a
//                 fork or at the exit, and return
#pragma once

#include <atomic>
#include <cstdint>

namespace gpushim::shim {

// At start-up, once, before the program's own code. Says nothing, allocates nothing.
void offer_to_nccl();

// Whether the variable is ours. The look-ups of a process that does not ask for this go past it.
extern constinit std::atomic<bool> offered_to_nccl;
inline bool may_be_nccl_plugin(const char* name) {
    return offered_to_nccl.load(std::memory_order_relaxed) && name[0] == 'n' && name[1] == 'c' &&
           name[2] == 'c' && name[3] == 'l' && name[4] == 'P';
}

// What a look-up of that name finds in `handle`, or null: not ours to answer. `next` is the dlsym behind us.
void* nccl_plugin_of(void* handle, const char* name, void* (*next)(void*, const char*));

// For the trace. Any thread.
struct NcclPluginState {
    int interface;        // that NCCL took; 0: none
    const char* refused;  // why ours is not the plug-in; null: it is, or nobody asked
    uint64_t left_out;    // events for which there was no place in the table
    uint64_t lost;        // … and that found no room in a ring
};
NcclPluginState nccl_plugin_state();

}  // namespace gpushim::shim
