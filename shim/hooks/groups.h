// NCCL's groups: which calls belong together. A call outside of a group is one by itself; those between
// ncclGroupStart and its ncclGroupEnd, and what these do in the driver, have one number. Any thread; what a
// thread carries is its own.
#pragma once

#include <atomic>
#include <cstdint>

namespace gpushim::shim {

struct GroupState {
    uint32_t depth;   // ncclGroupStart without its end
    uint32_t number;  // of the group that is open
};
extern thread_local constinit GroupState group_state __attribute__((tls_model("initial-exec")));
extern constinit std::atomic<uint32_t> groups;  // numbers given

// Of the call that begins.
inline uint32_t group_of_call() {
    // Relaxed: a number that nobody orders anything by.
    return group_state.depth != 0 ? group_state.number : groups.fetch_add(1, std::memory_order_relaxed) + 1;
}

// The call with that number has opened a group, perhaps inside of another …
inline void group_is_open(uint32_t number) {
    if (group_state.depth++ == 0) group_state.number = number;
}

// … or closed one, if there was any.
inline void group_is_closed() {
    if (group_state.depth != 0) --group_state.depth;
}

}  // namespace gpushim::shim
