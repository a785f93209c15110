// Since when a thread has made no call, as its ring tells. Any thread may ask of any ring.
#pragma once

#include "process_state.h"
#include "rings.h"
#include "ticks.h"

namespace gpushim::shim {

// Ticks since when the thread of a ring has made no call; 0: it is in one, or has made none.
inline uint64_t quiet_since(const Ring& ring) {
    // Acquire: with the state, what the ring was installed with.
    if (ring.state.load(std::memory_order_acquire) != RingState::taken) return 0;
    // Relaxed: the slot says for itself what it is.
    const uint64_t head = ring.header->head.load(std::memory_order_relaxed);
    if (head == 0) return 0;
    const Slot& slot = ring.slots[(head - 1) & (ring.header->slot_count - 1)];
    // Acquire: with the mark, the exit.
    if (slot.mark.load(std::memory_order_acquire) != complete_mark(head - 1)) return 0;
    return slot.kind == static_cast<uint8_t>(EventKind::thread) ? 0 : slot.exit;
}

// Which call a thread is in, if its newest slot is one of that kind; 0: it is in none.
inline uint64_t position_in(const Ring& ring, EventKind kind) {
    if (ring.state.load(std::memory_order_acquire) != RingState::taken) return 0;
    const uint64_t head = ring.header->head.load(std::memory_order_relaxed);
    if (head == 0) return 0;
    const Slot& slot = ring.slots[(head - 1) & (ring.header->slot_count - 1)];
    // Acquire: with the mark, the kind.
    const bool is_open = slot.mark.load(std::memory_order_acquire) == open_mark(head - 1);
    return is_open && slot.kind == static_cast<uint8_t>(kind) ? head : 0;
}

// How long that is ago. Only where gaps are recorded (process_state->gap_ticks).
inline int64_t quiet_ns(uint64_t since) {
    constexpr int64_t kGapNs = 50'000;  // that gap_ticks stand for
    const auto passed = static_cast<int64_t>(ticks() - since);
    return passed <= 0 ? 0
                       : static_cast<int64_t>(static_cast<double>(passed) * static_cast<double>(kGapNs) /
                                              static_cast<double>(process_state->gap_ticks));
}

}  // namespace gpushim::shim
