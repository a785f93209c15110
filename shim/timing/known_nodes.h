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

// Nodes lie in the order in which they were told, which is the one in which the driver names them as a rule:
// so a walk through a graph reads forward, and seldom waits for memory. What is read beside a token is
// that token's if it is still there afterwards: what is beside it is read with acquire, and written with
// release while there is no token.
struct ToldNode {
    std::atomic<uint64_t> token;  // of its graph; 0: forgotten
    std::atomic<uint64_t> handle_and_kind;
    std::atomic<uint64_t> value;
};
constexpr uint32_t kToldNodes = 1 << 15;
extern constinit ToldNode told_nodes[kToldNodes];

// Where among those a node is. Each that is not forgotten has such a place; who takes the place forgets it.
constexpr size_t kNodePlaces = 1 << 16;
constexpr size_t kPlacesOfNode = 4;  // that it may be in, one beside the other
extern constinit std::atomic<uint32_t> node_places[kNodePlaces];

// Nodes that are made one after the other lie beside each other in the driver's memory, and so do their
// places.
inline size_t place_of_node(uint64_t node, size_t i = 0) {
    return ((node >> 6 ^ node >> 21) + i) & (kNodePlaces - 1);
}

// Of one graph, while nobody changes it.
class KnownNodes {
  public:
    explicit KnownNodes(uint64_t graph);

    void will_find(uint64_t node) const {
        if (!is_in_order_) [[unlikely]]
            __builtin_prefetch(&node_places[place_of_node(node)]);
    }

    // `told`: the handle | what it is << kNodeShift.
    [[gnu::always_inline]] bool find(uint64_t node, uint64_t& told, uint64_t& value) {
        is_in_order_ = is_at(last_ + 1, node, told, value) || is_at(last_ - 1, node, told, value);
        return is_in_order_ || look_up(node, told, value);
    }

  private:
    [[gnu::always_inline]] bool is_at(uint32_t at, uint64_t node, uint64_t& told, uint64_t& value) {
        const ToldNode& there = told_nodes[at & (kToldNodes - 1)];
        if (token_ == 0 || there.token.load(std::memory_order_acquire) != token_) return false;
        told = there.handle_and_kind.load(std::memory_order_acquire);
        if ((told & kNodeHandle) != node) return false;
        value = there.value.load(std::memory_order_acquire);
        last_ = at;
        return there.token.load(std::memory_order_relaxed) == token_;
    }
    [[gnu::noinline]] bool look_up(uint64_t node, uint64_t& told, uint64_t& value);

    const uint64_t token_;  // 0: nothing is known of it
    uint32_t last_ = 0;     // where the last one was
    bool is_in_order_ = false;
};

// In a process that was forked.
void forget_nodes();

}  // namespace gpushim::shim
