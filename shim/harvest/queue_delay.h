// How long an operation takes to start on an empty queue (δ), and how long operations of one shape take:
// learnt from operations themselves. Of a shape whose duration d is steady,
//
//   span = e - ready = d + max(gap, δ - slack)      slack = ready - exit of the call
//
//   span  \            where it was queued, the span is d; where the queue was empty, it is longer by what
//   the
//          \_______    stream stood waiting. A shape that was seen on both sides gives both.
//                 slack
//               δ - gap
//
// The gap is what a device takes from a stamp to the operation behind it (stamp_gaps.h); an operation on an
// empty queue has none. Robust against outliers: medians throughout. Pure; one thread.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "../rows/observer.h"
#include "time_bounds.h"

namespace gpushim::shim {

constexpr size_t kOperations = 4;        // of Operation
constexpr int64_t kSureDelayNs = 1'000;  // about δ, at most: more need not be learnt

class QueueDelay {
  public:
    void learn(Operation kind, int64_t alike, const Observed& seen);
    void settle();  // after a batch: what was learnt counts

    Usual usual(Operation kind, int64_t alike) const;
    Spread delay(Operation kind) const;
    bool is_sure(Operation kind) const;  // little would be gained by waiting for more

    // There are operations of that kind that began on an empty queue, and nothing yet says how long that
    // takes: it would help to see some of them queued.
    bool wants_queued() const;

  private:
    struct Seen {
        int64_t slack_ns;
        int64_t span_ns;
        int64_t in_call_ns;
        uint32_t batch;
    };
    // By slack, so that what is common does not push out what is rare.
    static constexpr size_t kBuckets = 10, kInBucket = 16;
    struct Middle {
        int64_t ns;
        double half_ns;  // 95 of 100 are within that
        double batches;  // that they are of
    };
    // What a shape says of δ. Squares of what 95 of 100 are within.
    struct Shows {
        bool is_known;
        int64_t delay_ns;
        int64_t from_enter_ns;
        double noise;           // of what is said
        double own;             // by how much δ itself may differ, at most
        double own_from_enter;  // … and the time in the call
    };
    struct Shape {
        std::array<std::array<Seen, kInBucket>, kBuckets> seen = {};
        std::array<uint32_t, kBuckets> count = {};
        bool is_new = false;  // something since the last settle()
        Spread duration = {};
        Shows shows = {};
    };
    struct Key {
        int64_t alike;
        Operation kind;
        bool operator==(const Key&) const = default;
    };
    struct Hash {
        size_t operator()(const Key& key) const {
            return (static_cast<uint64_t>(key.alike) * 4 + static_cast<uint64_t>(key.kind)) *
                       0x9e3779b97f4a7c15 >>
                   16;
        }
    };
    struct Kind {
        bool is_starved = false;  // operations began on an empty queue
        bool has_idea = false;  // of what was queued (slack from high_ns on), and what was not (below low_ns)
        int64_t low_ns = 0;
        int64_t high_ns = 0;
        Spread delay = {};
        Spread from_enter = {};
    };
    static std::vector<Seen> all_of(const Shape& shape);
    bool bring_delay(Kind& kind, const std::vector<Seen>& seen) const;
    void settle(Kind& kind, Shape& shape) const;
    static Middle middle_of(const std::vector<Seen>& seen, int64_t (*value_of)(const Seen&));
    void settle(Operation operation);

    std::unordered_map<Key, Shape, Hash> shapes_;
    std::vector<Key> new_;
    std::array<Kind, kOperations> kinds_;
    uint32_t batch_ = 0;
    int64_t gap_ns_ = 0;
    uint64_t chance_ = 1;
};

}  // namespace gpushim::shim
