// In the frame of an outermost call: says that the call is still there. One that was left without a word is
// overwritten by what runs there next. The calling thread only.
#pragma once

#include "../base/protection.h"
#include "../ring/guard.h"

namespace gpushim::shim {

struct InCall {
    volatile uintptr_t alive;
};
constexpr uintptr_t kAlive = 0x67707573;

// Calls of a library to itself are this near to each other; farther up is another stack (a coroutine's),
// which may be gone and is not to be looked at.
constexpr intptr_t kNearBytes = 1 << 20;

inline bool inside_live(const void* outer, const void* frame) {
    if (!kept(Protection::frame_guard)) return outer != nullptr;
    return inside(outer, frame) &&
           static_cast<const char*>(outer) - static_cast<const char*>(frame) < kNearBytes &&
           static_cast<const InCall*>(outer)->alive == (reinterpret_cast<uintptr_t>(outer) ^ kAlive);
}

inline void enter(InCall& call) { call.alive = reinterpret_cast<uintptr_t>(&call) ^ kAlive; }

}  // namespace gpushim::shim
