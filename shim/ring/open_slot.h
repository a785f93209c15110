// Slots that say "open": the call was entered, and nobody says that it returned. A thread that left its call
// some other way (longjmp, an exception) leaves such a slot, too; its next slots tell. Any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "ring_format.h"

namespace gpushim::shim {

inline EventKind kind_of(const Slot& slot) { return static_cast<EventKind>(slot.kind); }

// Whether a thread that publishes `later` is no longer inside the call of an open slot. Only what NCCL itself
// calls is recorded within a call; texts, second slots and names that we asked for belong to a call that
// still goes on.
inline bool shows_end_of(uint8_t open_flags, const Slot& later) {
    if (kind_of(later) == EventKind::thread) return true;
    if (kind_of(later) == EventKind::text || kind_of(later) == EventKind::odd_launch) return false;
    // A tool that stands behind us may make ranges of its own around what it calls.
    if (kind_of(later) == EventKind::span) return false;
    const bool own = kind_of(later) == EventKind::named || kind_of(later) == EventKind::context ||
                     kind_of(later) == EventKind::gap || kind_of(later) == EventKind::timed ||
                     kind_of(later) == EventKind::graph_content || kind_of(later) == EventKind::graph_nodes ||
                     kind_of(later) == EventKind::nccl_joined ||
                     kind_of(later) == EventKind::nccl_operation ||
                     kind_of(later) == EventKind::nccl_channel || kind_of(later) == EventKind::nccl_network;
    if (own && later.api == kNoApi) return false;
    return (later.flags & kInsideNccl) == 0 || (open_flags & kInsideNccl) != 0;
}

// Where the outermost call stands that the ring's thread is inside of; it may have returned meanwhile.
// Backwards, so that what a thread has published since is known; acquire, for the process may live. `slots`:
// a power of two.
inline std::optional<uint64_t> outermost_open(const RingHeader& header, const Slot* slots) {
    std::optional<uint64_t> outermost;
    bool has_left = false, has_left_inner = false;
    const uint64_t head = header.head.load(std::memory_order_acquire);
    const uint64_t first = head > header.slot_count ? head - header.slot_count : 0;
    for (uint64_t position = head; position-- > first && !has_left;) {
        const Slot& slot = slots[position & (header.slot_count - 1)];
        const uint32_t mark = slot.mark.load(std::memory_order_acquire);
        if (mark == complete_mark(position)) {
            has_left = shows_end_of(0, slot);
            has_left_inner = has_left_inner || shows_end_of(kInsideNccl, slot);
        } else if (mark == open_mark(position) && !((slot.flags & kInsideNccl) != 0 && has_left_inner)) {
            outermost = position;
        }
    }
    return outermost;
}

}  // namespace gpushim::shim
