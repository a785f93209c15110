#include "known_nodes.h"

namespace gpushim::shim {

constinit NodePlace node_places[kNodePlaces] = {};

namespace {

constexpr size_t kGraphs = 1 << 10;
constexpr uint64_t kNobody = 0, kBusy = ~uint64_t{0};

// A graph from when it was made until it is gone has a token that no other has ever had: what was told of an
// earlier graph with that handle is not told of it.
struct Graph {
    std::atomic<uint64_t> token;
    std::atomic<uint64_t> handle;
};

constinit Graph graphs[kGraphs] = {};
constinit std::atomic<uint64_t> last_token = kNobody;
constinit std::atomic<uint64_t> first_token = kNobody;  // graphs with older ones may be gone

Graph& graph_place(uint64_t handle) { return graphs[handle * 0x9e3779b97f4a7c15 >> 32 & (kGraphs - 1)]; }

uint64_t handle_in(const NodePlace& place) {
    return place.handle_and_kind.load(std::memory_order_acquire) & kNodeHandle;
}

uint64_t token_of(const Graph& place, uint64_t handle) {
    const uint64_t token = place.token.load(std::memory_order_acquire);
    if (token == kNobody || token == kBusy || place.handle.load(std::memory_order_acquire) != handle)
        return kNobody;
    const bool is_there = place.token.load(std::memory_order_relaxed) == token &&
                          token >= first_token.load(std::memory_order_relaxed);
    return is_there ? token : kNobody;
}
uint64_t token_of(uint64_t graph) { return token_of(graph_place(graph), graph); }

// A place is empty, or busy, while what it holds changes. Whoever finds it busy goes without.
template <class Place>
bool claim(Place& place, uint64_t token) {
    return token != kBusy && place.token.compare_exchange_strong(token, kBusy, std::memory_order_acquire);
}

void empty(NodePlace& place, uint64_t token) {
    place.token.compare_exchange_strong(token, kNobody, std::memory_order_relaxed);
}

// Its own place, or the one of the graph that was made longest ago. Null: it is known already.
NodePlace* place_for(uint64_t token, uint64_t node) {
    NodePlace* oldest = &place_of_node(node, 0);
    for (size_t i = 0; i < kPlacesOfNode; ++i) {
        NodePlace& place = place_of_node(node, i);
        const uint64_t there = place.token.load(std::memory_order_relaxed);
        if (there != kBusy && handle_in(place) == node) return there == token ? nullptr : &place;
        if (there < oldest->token.load(std::memory_order_relaxed)) oldest = &place;
    }
    return oldest;
}

void tell(uint64_t token, uint64_t node, const HeldByNode& held) {
    NodePlace* place = place_for(token, node);
    if (place == nullptr || !claim(*place, place->token.load(std::memory_order_relaxed))) return;
    place->handle_and_kind.store(node | static_cast<uint64_t>(held.kind) << kNodeShift,
                                 std::memory_order_release);
    place->value.store(held.value, std::memory_order_release);
    place->token.store(token, std::memory_order_release);
}

}  // namespace

void graph_is_made(uint64_t graph) {
    Graph& place = graph_place(graph);
    if (!claim(place, place.token.load(std::memory_order_relaxed))) return;
    place.handle.store(graph, std::memory_order_release);
    place.token.store(last_token.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_release);
}

void graph_is_gone(uint64_t graph) {
    Graph& place = graph_place(graph);
    uint64_t token = token_of(place, graph);
    if (token != kNobody) place.token.compare_exchange_strong(token, kNobody, std::memory_order_relaxed);
}

void graphs_may_be_gone() {
    // Never back: what another thread has declared gone meanwhile stays so.
    const uint64_t next = last_token.load(std::memory_order_relaxed) + 1;
    uint64_t first = first_token.load(std::memory_order_relaxed);
    while (first < next && !first_token.compare_exchange_weak(first, next, std::memory_order_relaxed))
        continue;
}

void node_is_made(uint64_t graph, uint64_t node, const HeldByNode& held) {
    const uint64_t token = token_of(graph);
    if (token != kNobody && node != 0) tell(token, node, held);
}

void node_may_change(uint64_t node) {
    for (size_t i = 0; i < kPlacesOfNode; ++i) {
        NodePlace& place = place_of_node(node, i);
        const uint64_t token = place.token.load(std::memory_order_relaxed);
        if (token != kBusy && handle_in(place) == node) empty(place, token);
    }
}

KnownNodes::KnownNodes(uint64_t graph) : token_(token_of(graph)) {}

void forget_nodes() {
    graphs_may_be_gone();
    for (Graph& graph : graphs) graph.token.store(kNobody, std::memory_order_relaxed);
    for (NodePlace& node : node_places)
        if (node.token.load(std::memory_order_relaxed) == kBusy)
            node.token.store(kNobody, std::memory_order_relaxed);
}

}  // namespace gpushim::shim
