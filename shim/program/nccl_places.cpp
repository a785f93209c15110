#include "nccl_places.h"

#include <cstring>

#include "../ring/ticks.h"

namespace gpushim::shim {
namespace {

constexpr uint64_t kPlaces = 4096;
constexpr uint64_t kTries = 16;
constinit NcclPlace places[kPlaces] = {};
constinit std::atomic<uint64_t> last_handle = 0;
constinit std::atomic<uint64_t> left_out = 0;

NcclPlace& place_of(uint64_t handle) { return places[handle % kPlaces]; }

void make_empty(NcclPlace& place) {
    place.parent = place.what = place.value = place.more = place.bytes = 0;
    memset(place.waited, 0, sizeof place.waited);
    place.steps = 0;
    place.state = -1;
    place.is_step = false;
}

}  // namespace

NcclPlace* take_place(void** handle, uint64_t context) {
    for (uint64_t i = 0; i < kTries; ++i) {
        const uint64_t number = last_handle.fetch_add(1, std::memory_order_relaxed) + 1;
        NcclPlace& place = place_of(number);
        uint64_t free = 0;
        // Acquire: who had it before is done with it.
        if (!place.handle.compare_exchange_strong(free, number, std::memory_order_acquire)) continue;
        *handle = reinterpret_cast<void*>(number);
        place.context.store(context, std::memory_order_relaxed);
        make_empty(place);
        place.started = ticks();
        return &place;
    }
    left_out.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
}

NcclPlace* find_place(const void* handle) {
    const auto number = reinterpret_cast<uint64_t>(handle);
    NcclPlace& place = place_of(number);
    // Acquire: what the thread that had the place before has put there is not to come later.
    return number != 0 && place.handle.load(std::memory_order_acquire) == number ? &place : nullptr;
}

// The context first: who has the place next is not to be taken for this one's.
void free_place(NcclPlace& place) {
    place.context.store(0, std::memory_order_relaxed);
    place.handle.store(0, std::memory_order_release);
}

void free_places_of(uint64_t context) {
    for (NcclPlace& place : places) {
        if (place.handle.load(std::memory_order_acquire) == 0) continue;
        if (place.context.load(std::memory_order_relaxed) != context) continue;
        free_place(place);
        left_out.fetch_add(1, std::memory_order_relaxed);
    }
}

uint64_t nccl_events_left_out() { return left_out.load(std::memory_order_relaxed); }

}  // namespace gpushim::shim
