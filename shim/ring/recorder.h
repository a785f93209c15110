// The producer's side of a ring, inlined into every thunk. Promise: no lock, no allocation, no system call,
// never blocks; when the ring is full the event is dropped and counted. Only the ring's own thread.
//
//   open(kind) ── call ── complete()          mark: 0 … open … complete
//
// A thread that dies in between leaves the mark at "open": that event is known to be unfinished, not lost.
#pragma once

#include "guard.h"
#include "process_state.h"
#include "ring_format.h"
#include "ticks.h"

namespace gpushim::shim {

// Gives the calling thread a ring: a spare one, one of a thread that has ended, or a new one. False: none to
// be had. (rings.cpp; may open, fallocate and mmap, never malloc.)
bool take_ring(ThreadState& thread);

// An event is dropped because its thread has no ring.
void count_without_ring();

// The same when the thread's own is full: it goes on in another. Wakes the writer.
bool chain_ring(ThreadState& thread);

// Only the owner adds: a load and a store, not a locked instruction.
inline void add(std::atomic<uint64_t>& number, uint64_t more) {
    number.store(number.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

// Many polls in a row of one handle share a slot (EventKind::query) that stays open while it grows; the next
// other event of the thread completes it.
inline void complete_slot(Slot* slot) {
    // Release: who reads "complete" reads all that was stored before.
    slot->mark.store(slot->mark.load(std::memory_order_relaxed) | 1, std::memory_order_release);
}

inline void close_poll(ThreadState& thread) {
    if (thread.poll_position == 0) [[likely]]
        return;
    complete_slot(&thread.slots[(thread.poll_position - 1) & thread.mask]);
    thread.poll_position = 0;
}

// What the thread knows of the writer may be old: looks again. Once for each round of the ring.
[[gnu::noinline]] inline bool is_still_full(const ThreadState& thread, uint64_t last) {
    RingHeader& ring = *thread.ring;
    // Acquire: the writer is done with what it has freed.
    ring.cached_tail.store(ring.tail.load(std::memory_order_acquire), std::memory_order_relaxed);
    return last - ring.cached_tail.load(std::memory_order_relaxed) > thread.mask;
}

[[gnu::always_inline]] inline bool is_full(const ThreadState& thread, uint64_t wanted) {
    const RingHeader& ring = *thread.ring;
    const uint64_t last = ring.head.load(std::memory_order_relaxed) + wanted - 1;
    if (last - ring.cached_tail.load(std::memory_order_relaxed) <= thread.mask) [[likely]]
        return false;
    return is_still_full(thread, last);
}

// Whether the thread has a ring with that many free slots, or can get one. For what may go without: nothing
// is counted.
inline bool find_room(ThreadState& thread, uint64_t wanted) {
    if (thread.ring == nullptr || thread.generation != process_state->generation)
        if (!take_ring(thread)) return false;
    return !is_full(thread, wanted) || (chain_ring(thread) && !is_full(thread, wanted));
}

// Where the thread's own ring will not do. False: dropped, and counted as one event.
[[gnu::noinline, gnu::cold]] inline bool make_room(ThreadState& thread, uint64_t wanted) {
    if (thread.ring == nullptr || thread.generation != process_state->generation)
        if (!take_ring(thread)) {
            count_without_ring();
            return false;
        }
    if (!is_full(thread, wanted)) return true;
    if (chain_ring(thread) && !is_full(thread, wanted)) return true;
    // Relaxed: which reason it is counted for may change a little late.
    add(thread.ring->dropped[process_state->not_emptied.load(std::memory_order_relaxed)], 1);
    thread.last_exit = 0;  // the time until the next call holds this one
    return false;
}

// Whether that many slots are free, if need be in another ring.
[[gnu::always_inline]] inline bool has_room(ThreadState& thread, uint64_t wanted) {
    const bool has_ring = thread.ring != nullptr && thread.generation == process_state->generation;
    if (has_ring && !is_full(thread, wanted)) [[likely]]
        return true;
    return make_room(thread, wanted);
}

// Opens the next slot for a call that is being entered. Null: dropped and counted.
[[gnu::always_inline]] inline Slot* open_slot(ThreadState& thread, uint16_t api, EventKind kind,
                                              uint8_t flags) {
    close_poll(thread);
    if (!has_room(thread, 1)) [[unlikely]]
        return nullptr;
    const uint64_t position = thread.ring->head.load(std::memory_order_relaxed);
    Slot* slot = &thread.slots[position & thread.mask];
    slot->api = api;
    slot->kind = static_cast<uint8_t>(kind);
    slot->flags = flags;
    slot->context = thread.context;
    slot->group = thread.group;
    slot->exit = 0;
    slot->enter = ticks();
    thread.ring->head.store(position + 1, std::memory_order_relaxed);
    // Release: a reader that sees "open" may report the fields above as an unfinished event.
    slot->mark.store(open_mark(position), std::memory_order_release);
    return slot;
}

// What no call is inside of: complete at once. False: dropped and counted.
template <class E>
[[gnu::always_inline]] inline bool put_slot(ThreadState& thread, uint64_t now, const E& words) {
    close_poll(thread);
    if (!has_room(thread, 1)) [[unlikely]]
        return false;
    const uint64_t position = thread.ring->head.load(std::memory_order_relaxed);
    Slot* slot = &thread.slots[position & thread.mask];
    slot->api = kNoApi;
    slot->kind = static_cast<uint8_t>(E::kind);
    slot->flags = 0;
    slot->context = thread.context;
    slot->group = thread.group;
    slot->enter = slot->exit = now;
    put_words(*slot, words);
    thread.ring->head.store(position + 1, std::memory_order_relaxed);
    // Release: who reads "complete" reads all that was stored before.
    slot->mark.store(complete_mark(position), std::memory_order_release);
    return true;
}

// The slots of a text that the thread's newest event has announced; has_room() was asked for all of them at
// once.
void append_text(ThreadState& thread, const char* text, size_t length);

}  // namespace gpushim::shim
