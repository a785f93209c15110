// What nodes of graphs hold, as the calls said that made them, so that the driver need not be asked for each
// of a graph's nodes when that is made executable (hooks/graph_contents.h). What is not here has to be asked
// for: places are few, and what might no longer be true is forgotten. Lock-free, in static memory; any
// thread.
//
//   cuGraphCreate, cuStreamBeginCapture   graph_is_made
//   cuGraphAdd…, a captured operation     node_is_made
//   cuGraph…NodeSetParams                 node_may_change
//   cuGraphDestroy                        graph_is_gone
//   a capture that comes to nothing       graphs_may_be_gone: the driver ends its graph, and nobody says
//   which
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../ring/ring_format.h"

namespace gpushim::shim {

struct HeldByNode {
    GraphNode kind;
    uint64_t value;  // a kernel's function, a copy's bytes

    bool operator==(const HeldByNode&) const = default;
};

void graph_is_made(uint64_t graph);
void graph_is_gone(uint64_t graph);
void graphs_may_be_gone();

// The first who says what a node holds is believed until somebody may have changed it.
void node_is_made(uint64_t graph, uint64_t node, const HeldByNode& held);
void node_may_change(uint64_t node);

// A place for a node. What is read beside a token is that token's if it is still there afterwards: what is
// beside it is read with acquire, and written with release while the place is busy.
struct NodePlace {
    std::atomic<uint64_t> token;  // of its graph
    std::atomic<uint64_t> handle_and_kind;
    std::atomic<uint64_t> value;
};
constexpr size_t kNodePlaces = 1 << 15;
constexpr size_t kPlacesOfNode = 4;  // that it may be in, one beside the other
extern constinit NodePlace node_places[kNodePlaces];

// Nodes that are made one after the other lie beside each other in the driver's memory, and so do their
// places.
inline size_t first_place_of(uint64_t node) { return (node >> 6 ^ node >> 21) & (kNodePlaces - 1); }
inline NodePlace& place_of_node(uint64_t node, size_t i) {
    return node_places[(first_place_of(node) + i) & (kNodePlaces - 1)];
}

// Of one graph, while nobody changes it.
class KnownNodes {
  public:
    explicit KnownNodes(uint64_t graph);

    void will_find(uint64_t node) const { __builtin_prefetch(&place_of_node(node, 0)); }

    // `told`: the handle | what it is << kNodeShift.
    [[gnu::always_inline]] bool find(uint64_t node, uint64_t& told, uint64_t& value) const {
        for (size_t i = 0; i < kPlacesOfNode && token_ != 0; ++i) {
            const NodePlace& place = place_of_node(node, i);
            if (place.token.load(std::memory_order_acquire) != token_) continue;
            told = place.handle_and_kind.load(std::memory_order_acquire);
            if ((told & kNodeHandle) != node) continue;
            value = place.value.load(std::memory_order_acquire);
            return place.token.load(std::memory_order_relaxed) == token_;
        }
        return false;
    }

  private:
    const uint64_t token_;  // 0: nothing is known of it
};

// In a process that was forked.
void forget_nodes();

}  // namespace gpushim::shim
