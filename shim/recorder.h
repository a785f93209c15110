// The producer's side of a ring, inlined into every thunk. Promise: no lock, no allocation, no system call, never
// blocks; when the ring is full the event is dropped and counted. Only the ring's own thread.
//
//   open(kind) ── call ── complete()          mark: 0 … open … complete
//
// A thread that dies in between leaves the mark at "open": that event is known to be unfinished, not lost.
#pragma once

#include "guard.h"
#include "live.h"
#include "ring_format.h"
#include "ticks.h"

namespace gpushim::shim {

// Gives the calling thread a ring: a spare one, or a new one. False: none to be had; counted. (rings.cpp; may open,
// fallocate and mmap, never malloc.)
bool take_ring(ThreadState& thread);

// Many polls in a row of one handle share a slot (EventKind::query) that stays open while it grows; the next other
// event of the thread completes it.
inline void complete_slot(Slot* slot) {
    // Release: whoever reads "complete" reads all that was stored before.
    slot->mark.store(slot->mark.load(std::memory_order_relaxed) | 1, std::memory_order_release);
}

inline void close_poll(ThreadState& thread) {
    if (thread.poll_position == 0) [[likely]] return;
    complete_slot(&thread.slots[(thread.poll_position - 1) & thread.mask]);
    thread.poll_position = 0;
}

// The slot at the producer's head, or null when the ring is full.
inline Slot* free_slot(ThreadState& thread) {
    RingHeader& ring = *thread.ring;
    if (ring.head - ring.cached_tail > thread.mask) [[unlikely]] {
        // Acquire: the writer is done with what it has freed.
        ring.cached_tail = ring.tail.load(std::memory_order_acquire);
        if (ring.head - ring.cached_tail > thread.mask) {
            ++ring.dropped[static_cast<size_t>(Drop::full)];
            return nullptr;
        }
    }
    return &thread.slots[ring.head & thread.mask];
}

// Opens the next slot for a call that is being entered. Null: dropped and counted.
inline Slot* open_slot(ThreadState& thread, uint16_t api, EventKind kind, uint8_t flags) {
    if (thread.ring == nullptr || thread.generation != live->generation) [[unlikely]]
        if (!take_ring(thread)) return nullptr;
    close_poll(thread);
    Slot* slot = free_slot(thread);
    if (slot == nullptr) return nullptr;
    slot->api = api;
    slot->kind = static_cast<uint8_t>(kind);
    slot->flags = flags;
    slot->context = thread.context;
    slot->group = thread.group;
    slot->enter = ticks();
    // Release: a reader that sees "open" may report the fields above as an unfinished event.
    slot->mark.store(open_mark(thread.ring->head), std::memory_order_release);
    ++thread.ring->head;
    return slot;
}

}  // namespace gpushim::shim
