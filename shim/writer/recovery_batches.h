// What dead rings still hold, in batches that a trace of a stated size can take. Cut in time, over all rings:
// as with a living process, what uses a handle comes with or after what made it. One thread.
//
//   ring A   ──●──●───────────●──┊──●────────●──      a cut: everything before it, and what stands before
//   ring B   ─────●──●─●──●──●───┊─●──●──●──────      that in its ring
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../rows/batch.h"
#include "dead_ring.h"

namespace gpushim::shim {

// The events of one ring: [begin, end) of all, the first `open` of which the trace had seen open.
struct RingEvents {
    RingProgress last;  // when all of them are in the trace
    size_t begin = 0, end = 0;
    size_t open = 0;
};

class RecoveryBatches {
  public:
    // Of at most so many slots each, about. `events` have their times and stay where they are.
    RecoveryBatches(std::span<const Event> events, std::span<const RingEvents> rings, size_t most_slots);

    // Its spans are valid until the next one is asked for.
    bool next(Batch& batch);

  private:
    void find_cuts(size_t most_slots);
    size_t first_at(size_t begin, size_t end, int64_t cut_ns) const;
    int64_t earliest_left() const;

    std::span<const Event> events_;
    std::span<const RingEvents> rings_;
    std::vector<int64_t> latest_;    // by event: the latest begin of those up to it in its ring …
    std::vector<int64_t> earliest_;  // … and the earliest of those from it on
    int64_t last_ns_ = 0;            // of all
    std::vector<size_t> at_;         // by ring: its first event that is not in a batch yet
    std::vector<int64_t> cuts_;
    size_t next_cut_ = 0;
    EventList list_{0};
    std::vector<RingProgress> progress_;
};

}  // namespace gpushim::shim
