#include "stream_callers.h"

#include <sched.h>

#include <atomic>

#include "../base/system.h"

namespace gpushim::shim {
namespace {

constexpr uint32_t kPlaces = 64, kEveryPlace = kPlaces;
constexpr int64_t kPatienceNs = 100'000'000;

// Streams that share one are taken for the same. One word, so that who looks and who enters see each other:
// how often it was entered | by how many who are still in it | whether the one who is alone in it looks.
struct alignas(64) Place {
    std::atomic<uint64_t> word;
};
constexpr uint64_t kLooks = 1, kOneInside = 1 << 1, kOneEntry = 1 << 24, kInside = kOneEntry - kOneInside;

constinit Place places[kPlaces] = {};

uint32_t place_of(uint64_t stream) {
    return static_cast<uint32_t>(stream * 0x9e3779b97f4a7c15 >> 32) & (kPlaces - 1);
}

// The driver answers meanwhile, and may have to wait for others itself; a thread that is gone ends no look.
void wait_for_look(Place& place) {
    const int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + kPatienceNs;
    while ((place.word.load(std::memory_order_acquire) & kLooks) != 0) {
        if (clock_ns(CLOCK_MONOTONIC) > until_ns) place.word.fetch_and(~kLooks, std::memory_order_acq_rel);
        sched_yield();
    }
}

// The word as it stays while nobody else enters; 0: others are in it.
uint64_t enter(Place& place) {
    constexpr uint64_t kMine = kOneEntry + kOneInside;
    // Acquire: who looked has read before we go on. Release: what we did before is over for who looks next.
    const uint64_t before = place.word.fetch_add(kMine, std::memory_order_acq_rel);
    if ((before & kLooks) != 0) wait_for_look(place);
    return (before & kInside) == 0 ? before + kMine : 0;
}

void leave(Place& place) { place.word.fetch_sub(kOneInside, std::memory_order_release); }

std::atomic<uint64_t>& word_of(const ThreadState& thread) { return places[thread.entered_place].word; }

}  // namespace

void enter_stream(ThreadState& thread, uint64_t stream) {
    thread.entered_place = place_of(stream);
    thread.entered_in = process_state->generation;
    thread.entered = enter(places[thread.entered_place]);
}

void enter_streams(ThreadState& thread) {
    thread.entered_place = kEveryPlace;
    thread.entered_in = process_state->generation;
    thread.entered = 0;
    for (Place& place : places) enter(place);
}

void leave_streams(ThreadState& thread) {
    thread.entered = 0;
    // In a child that was forked inside the call nobody is in it.
    if (thread.entered_in != process_state->generation) return;
    if (thread.entered_place != kEveryPlace) return leave(places[thread.entered_place]);
    for (Place& place : places) leave(place);
}

bool begin_look(const ThreadState& thread, uint64_t stream) {
    uint64_t mine = thread.entered;
    return mine != 0 && thread.entered_place == place_of(stream) &&
           thread.entered_in == process_state->generation &&
           word_of(thread).compare_exchange_strong(mine, mine | kLooks, std::memory_order_acq_rel);
}

bool may_read(const ThreadState& thread) {
    return word_of(thread).load(std::memory_order_acquire) == (thread.entered | kLooks);
}

// Release: what was read was read before.
void end_look(const ThreadState& thread) { word_of(thread).fetch_and(~kLooks, std::memory_order_release); }

void forget_stream_callers() {
    for (Place& place : places) place.word.store(0, std::memory_order_relaxed);
}

}  // namespace gpushim::shim
