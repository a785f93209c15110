// What the writer hands to the store: events out of the rings, times mapped to CLOCK_MONOTONIC, with what
// makes their storing exactly-once. Lives during one call of Store::write; the writer's thread only (or the
// recovery's).
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

#include "../ring/clock.h"
#include "../ring/ring_format.h"
#include "../sqlite/rows.h"

namespace gpushim::shim {

constexpr int64_t kUnfinished = -1;

struct Event {
    Slot slot;  // a copy: the ring's may be overwritten once committed
    uint64_t ring_id;
    uint64_t position;
    int32_t thread_id;  // thread number (RingOwner)
    int64_t enter_ns;
    int64_t exit_ns;        // kUnfinished: the process ended inside the call
    std::string_view text;  // of events that carry one; the kText slots themselves are no events here
};

// Of one that is not finished only what was known when it was opened.
inline void copy_slot(Slot& to, const Slot& from, bool finished) {
    // Relaxed: a copy that only this thread reads.
    to.mark.store(from.mark.load(std::memory_order_relaxed), std::memory_order_relaxed);
    to.api = from.api;
    to.kind = from.kind;
    to.flags = from.flags;
    to.context = from.context;
    to.group = from.group;
    to.enter = from.enter;
    to.exit = finished ? from.exit : 0;
    for (size_t i = 0; i < std::size(to.word); ++i) to.word[i] = finished ? from.word[i] : 0;
}

// Up to where the database already has a ring.
struct Committed {
    uint64_t next = 0;
    std::vector<uint64_t> open;

    bool has(uint64_t position) const {
        return position < next && std::find(open.begin(), open.end(), position) == open.end();
    }
};

// Positions below `next` are in the database with this transaction, except those in `open`, which were still
// being written by a thread inside a call.
struct RingProgress {
    uint64_t ring_id;
    uint64_t next;
    std::span<const uint64_t> open;
    std::span<const uint64_t> dropped;  // by Drop, since the ring was made
};

struct Batch {
    std::span<const Event> events;  // by thread in order of enter; between threads in any
    std::span<const RingProgress> rings;
    std::span<const ClockPair> clock;
    int64_t watermark_ns;  // no later launch, copy or memset starts before this
    // Rows of tables that no event makes (observer.h). Those that go in by a transaction before are taken out
    // of their block.
    std::span<Rows* const> observed = {};
    uint64_t samples_left_out = 0;  // of these, since the last batch that was written
    bool is_at_the_end = false;     // of the process; there is at most one more after it
    const char* ended = nullptr;    // not null: nothing comes after it; what meta.ended becomes
    uint64_t unknown_abi = 0;       // of the doors, since the process began (hooks/counters.h)
    // Operations without events for that reason, since it began.
    uint64_t programmatic = 0;
    uint64_t measured = 0;
    // CLOCK_MONOTONIC: the newest window, whose rows are worth more (kept_slots.h). The end may be a plan.
    int64_t window_from_ns = 0, window_until_ns = 0;
};

}  // namespace gpushim::shim
