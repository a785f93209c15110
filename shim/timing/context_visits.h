// Keeps the writer's calls into a context apart from the context's end. The thread that ends it waits until
// the writer is out (at most 100 ms, counted), and the writer does not come back.
//
//   writer    enter_context ── calls ── leave_context            enter_context: false
//   program                    context_is_ending ··waits·· | real call | context_has_ended
#pragma once

#include <cstdint>

#include "../calls/driver_api.h"

namespace gpushim::shim {

// The writer's thread: before each visit to a context, by its number (contexts.h), and when it is out.
bool enter_context(uint32_t context);  // false: the context is ending, or has
void leave_context();

// The program's threads. Before a call that may end the context, and when it has returned.
void context_is_ending(uint32_t context);
void context_has_ended(uint32_t context, bool ended);  // false: it goes on
bool is_ended(uint32_t context);

// Which context is a device's primary one: told where the program gets it, 0 until then.
void primary_context_is(CUdevice device, uint64_t handle);
uint64_t primary_context_of(CUdevice device);

// How often a thread of the program has waited, and how often in vain.
struct VisitCounts {
    uint32_t waits;
    uint32_t given_up;
};
VisitCounts visit_counts();

// In a process that was forked, before it has any contexts of its own.
void forget_context_visits();

}  // namespace gpushim::shim
