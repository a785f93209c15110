// What the rings of this process tell of its calls from one look to the next: whether anything moved, and
// which threads are inside a call that waits. Reads a few words of each ring. The writer's thread only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "../ring/rings.h"

namespace gpushim::shim {

struct WaitingCall {
    int32_t tid;
    uint16_t api;
    uint64_t enter;  // ticks
};

class Activity {
  public:
    // A poll that was asked again so lately is a wait; one that nobody asks any more is none.
    static constexpr int64_t kPollsApartNs = 10'000'000'000;

    struct Seen {
        bool has_moved =
            false;  // an operation or a step, a call that waited is over, or something was dropped
        std::vector<WaitingCall> waiting;
    };
    Seen look(std::span<Ring> rings, int64_t now_ns);

  private:
    struct Watched {
        uint64_t ring_id = UINT64_MAX;
        uint64_t head = 0, dropped = 0;
        uint64_t waits_at = UINT64_MAX;  // the position of a call that is no poll; none
        uint64_t polled = 0;             // ticks of the last poll …
        int64_t polled_ns = 0;           // … and when it was seen
    };
    static bool is_polled(Watched& watched, const Slot& slot, int64_t now_ns);
    void look_at(const Ring& ring, Watched& watched, int64_t now_ns, Seen& seen);

    std::vector<Watched> watched_;
    uint64_t dropped_without_ring_ = 0;
};

}  // namespace gpushim::shim
