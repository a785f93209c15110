#include "activity.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "../ring/open_slot.h"

namespace gpushim::shim {
namespace {

constexpr uint64_t kMostSlots = 64;  // a thread that records more than this between two looks moves
constexpr uint64_t kNowhere = UINT64_MAX;

const Slot& slot_at(const Ring& ring, uint64_t position) {
    return ring.slots[position & (ring.header->slot_count - 1)];
}

// Polls, questions, gaps and lives of objects are what a program does that waits, too.
bool is_progress(EventKind kind) {
    switch (kind) {
        case EventKind::launch:
        case EventKind::graph_launch:
        case EventKind::copy:
        case EventKind::memset:
        case EventKind::host_call:
        case EventKind::sync:
        case EventKind::collective:
        case EventKind::communicator:
        case EventKind::marker:
            return true;
        default:
            return false;
    }
}

// Calls that return when a device or another process has got on, or may. Those that compile or load may take
// minutes of their own.
bool may_wait(EventKind kind) {
    switch (kind) {
        case EventKind::group:   // its end makes the calls of the group
        case EventKind::memory:  // freeing waits for the device
        case EventKind::died:
        case EventKind::query:
            return true;
        default:
            return is_progress(kind) && kind != EventKind::marker;
    }
}

bool has_progress(const Ring& ring, uint64_t from, uint64_t until) {
    if (until - from > kMostSlots) return true;
    for (uint64_t position = from; position < until; ++position) {
        const Slot& slot = slot_at(ring, position);
        // Acquire: with the mark, the kind. One that has been overwritten since says that the ring goes on.
        const uint32_t mark = slot.mark.load(std::memory_order_acquire);
        const bool is_there = (mark | 1) == complete_mark(position);
        if (!is_there || is_progress(kind_of(slot))) return true;
    }
    return false;
}

// Relaxed: a count; the newest value comes with the next look.
uint64_t dropped_by(const RingHeader& header) {
    uint64_t sum = 0;
    for (const auto& dropped : header.dropped) sum += dropped.load(std::memory_order_relaxed);
    return sum;
}

std::optional<uint64_t> waiting_call(const Ring& ring) {
    const auto position = outermost_open(*ring.header, ring.slots);
    if (!position || !may_wait(kind_of(slot_at(ring, *position)))) return std::nullopt;
    return position;
}

}  // namespace

Activity::Seen Activity::look(std::span<Ring> rings, int64_t now_ns) {
    Seen seen;
    watched_.resize(std::max(watched_.size(), rings.size()));
    for (size_t i = 0; i < rings.size(); ++i)
        // Acquire: with the state, what the ring was installed with.
        if (rings[i].state.load(std::memory_order_acquire) == RingState::taken)
            look_at(rings[i], watched_[i], now_ns, seen);
    if (process_ring() != nullptr) {
        const uint64_t dropped = dropped_by(*process_ring());
        seen.has_moved |= std::exchange(dropped_without_ring_, dropped) != dropped;
    }
    return seen;
}

bool Activity::is_polled(Watched& watched, const Slot& slot, int64_t now_ns) {
    // Acquire: a reader that sees the exit sees the words.
    const uint64_t polled = __atomic_load_n(&slot.exit, __ATOMIC_ACQUIRE);
    if (std::exchange(watched.polled, polled) != polled) watched.polled_ns = now_ns;
    return now_ns - watched.polled_ns <= kPollsApartNs;
}

void Activity::look_at(const Ring& ring, Watched& watched, int64_t now_ns, Seen& seen) {
    const uint64_t head = ring.header->head.load(std::memory_order_acquire);
    const uint64_t dropped = dropped_by(*ring.header);
    if (watched.ring_id != ring.header->ring_id) watched = {ring.header->ring_id, 0, dropped};
    seen.has_moved |= dropped != watched.dropped || has_progress(ring, watched.head, head);
    watched.head = head;
    watched.dropped = dropped;
    const auto position = waiting_call(ring);
    const bool polls = position && kind_of(slot_at(ring, *position)) == EventKind::query;
    const uint64_t waits_at = position && !polls ? *position : kNowhere;
    seen.has_moved |= std::exchange(watched.waits_at, waits_at) != waits_at;
    if (polls && !is_polled(watched, slot_at(ring, *position), now_ns)) return;
    if (position)
        seen.waiting.push_back({ring.tid.load(std::memory_order_relaxed), slot_at(ring, *position).api,
                                slot_at(ring, *position).enter});
}

}  // namespace gpushim::shim
