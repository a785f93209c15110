// Small numbers for contexts: what a slot carries. A handle that is used again by the driver gets a new
// number. Lock-free, any thread. The `context` event (and `born` of a context) is what ties number and handle
// together: its slot's `context` is the number of the handle in its first word.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpushim::shim {

// 0 for no context, for one that is gone (a thread whose current one another has ended may still be told its
// handle), and for those beyond the 1024th address at which there was one.
uint32_t context_number(uint64_t handle);
uint32_t known_context_number(uint64_t handle);  // 0 also for one that has none yet
void context_gone(uint64_t handle);
void context_is_born(uint64_t handle);  // perhaps where another was

// Those that have a number, at most so many. How many there were.
struct NumberedContext {
    uint64_t handle;
    uint32_t number;
};
size_t numbered_contexts(NumberedContext* contexts, size_t most);

}  // namespace gpushim::shim
