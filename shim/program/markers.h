// What a program may tell us of itself. Optional: found by dlsym, never required; without recording they do
// nothing. Any thread.
#pragma once

#include <cstdint>

#include "../ring/ring_format.h"

namespace gpushim::shim {

// One that the shim says itself; whatever the state.
void record_marker(Marker marker);

}  // namespace gpushim::shim

extern "C" {
[[gnu::visibility("default")]] void gpushim_step();
[[gnu::visibility("default")]] void gpushim_step_n(uint64_t samples);
[[gnu::visibility("default")]] void gpushim_mark(const char* text);
// Ranges as NVTX has them. Pushed ones lie in each other, on a thread: an operation belongs to those that are
// open on the thread that calls it. Started ones any thread may end, by their number.
[[gnu::visibility("default")]] void gpushim_range_push(const char* text);
[[gnu::visibility("default")]] void gpushim_range_pop();
[[gnu::visibility("default")]] uint64_t gpushim_range_start(const char* text);
[[gnu::visibility("default")]] void gpushim_range_end(uint64_t number);
}
