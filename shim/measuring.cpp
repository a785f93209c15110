#include "measuring.h"

#include <atomic>
#include <cstddef>

namespace gpushim::shim {
namespace {

constexpr size_t kPlaces = 4096;  // a power of two
constexpr float kShortMs = 10;
constexpr uint64_t kSecond = 20'000;  // in gaps (Live::gap_ticks)
constexpr uint64_t kSuspect = 5 * kSecond;

constinit std::atomic<uint64_t> with_timing[kPlaces] = {};  // events; 0: none
constinit std::atomic<uint64_t> operations = 0;

std::atomic<uint64_t>& place_of(uint64_t event) { return with_timing[event * 0x9e3779b97f4a7c15 >> 52]; }
static_assert(kPlaces == size_t{1} << (64 - 52));

}  // namespace

void note_event_made(uint64_t event, bool has_timing) {
    std::atomic<uint64_t>& place = place_of(event);
    if (has_timing)
        place.store(event, std::memory_order_relaxed);
    else if (place.load(std::memory_order_relaxed) == event)
        place.store(0, std::memory_order_relaxed);
}

bool has_timing(uint64_t event) {
    return event != 0 && place_of(event).load(std::memory_order_relaxed) == event;
}

void note_timed_record(ThreadState& thread, uint64_t now) {
    if (thread.suspected_until == 0) thread.suspected_until = now + kSuspect * live->gap_ticks;
    if (now < thread.suspected_until) thread.measures_until = now + kSecond * live->gap_ticks;
}

void note_elapsed(ThreadState& thread, float ms, uint64_t now) {
    if (ms < kShortMs) {
        thread.measures_until = now + kSecond * live->gap_ticks;
        thread.suspected_until = now + kSuspect * live->gap_ticks;
    } else {
        thread.measures_until = 0;
        thread.suspected_until = now;
    }
}

void count_measured() { operations.fetch_add(1, std::memory_order_relaxed); }
uint64_t measured_operations() { return operations.load(std::memory_order_relaxed); }

void forget_measuring() { operations.store(0, std::memory_order_relaxed); }

}  // namespace gpushim::shim
