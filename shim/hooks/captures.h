// How many captures are under way in this process: while none is, nobody needs to ask whether a stream is
// capturing (one joins a capture by waiting for an event, so a mark on the stream would not do). Any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace gpushim::shim {

extern constinit std::atomic<int32_t> captures;

// Relaxed: a launch into a capture comes after its beginning on the same thread, or in an order that the
// program itself made.
inline bool captures_active() { return captures.load(std::memory_order_relaxed) > 0; }

}  // namespace gpushim::shim
