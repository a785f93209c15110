#include "known_nodes.h"

namespace gpushim::shim {

constinit ToldNode told_nodes[kToldNodes] = {};
constinit std::atomic<uint32_t> node_places[kNodePlaces] = {};

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

uint64_t token_of(const Graph& place, uint64_t handle) {
    const uint64_t token = place.token.load(std::memory_order_acquire);
    if (token == kNobody || token == kBusy || place.handle.load(std::memory_order_acquire) != handle)
        return kNobody;
    const bool is_there = place.token.load(std::memory_order_relaxed) == token &&
                          token >= first_token.load(std::memory_order_relaxed);
    return is_there ? token : kNobody;
}
uint64_t token_of(uint64_t graph) { return token_of(graph_place(graph), graph); }

// Its place is empty, or busy, while what it holds changes. A thread that finds it busy goes without.
bool claim(Graph& place, uint64_t token) {
    return token != kBusy && place.token.compare_exchange_strong(token, kBusy, std::memory_order_acquire);
}

// What is told of nodes is changed by one thread at a time; who would have to wait for longer than that takes
// goes without.
constexpr int kTries = 200;
constinit std::atomic<bool> is_changing = false;

class Change {
  public:
    Change() {
        for (int i = 0; i < kTries && !is_mine_; ++i)
            is_mine_ = !is_changing.load(std::memory_order_relaxed) &&
                       !is_changing.exchange(true, std::memory_order_acquire);
    }
    ~Change() {
        if (is_mine_) is_changing.store(false, std::memory_order_release);
    }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;
    explicit operator bool() const { return is_mine_; }

  private:
    bool is_mine_ = false;
};

// Only in a change, all that follows.
constinit uint32_t next_told = 0;  // the first is nobody's: where a place that was never taken leads

uint64_t handle_in(const ToldNode& there) {
    return there.handle_and_kind.load(std::memory_order_relaxed) & kNodeHandle;
}
ToldNode& told_at(size_t place) { return told_nodes[node_places[place].load(std::memory_order_relaxed)]; }

void forget(ToldNode& there) { there.token.store(kNobody, std::memory_order_relaxed); }

// Nobody's, where it was given to another node since: that one has a place of its own.
uint64_t token_at(size_t place) {
    const ToldNode& there = told_at(place);
    const size_t from_first = (place - place_of_node(handle_in(there))) & (kNodePlaces - 1);
    return from_first < kPlacesOfNode ? there.token.load(std::memory_order_relaxed) : kNobody;
}

constexpr size_t kIsKnown = ~size_t{0};

// Its own place, or the one of the graph that was made longest ago.
size_t place_for(uint64_t token, uint64_t node) {
    size_t oldest = place_of_node(node);
    for (size_t i = 0; i < kPlacesOfNode; ++i) {
        const size_t place = place_of_node(node, i);
        const uint64_t there = token_at(place);
        if (there != kNobody && handle_in(told_at(place)) == node) return there == token ? kIsKnown : place;
        if (there < token_at(oldest)) oldest = place;
    }
    return oldest;
}

void tell(uint64_t token, uint64_t node, const HeldByNode& held) {
    const size_t place = place_for(token, node);
    if (place == kIsKnown) return;
    if (token_at(place) != kNobody) forget(told_at(place));
    const uint32_t at = next_told % (kToldNodes - 1) + 1;
    next_told = at;
    ToldNode& told = told_nodes[at];
    forget(told);
    told.handle_and_kind.store(node | static_cast<uint64_t>(held.kind) << kNodeShift,
                               std::memory_order_release);
    told.value.store(held.value, std::memory_order_release);
    told.token.store(token, std::memory_order_release);
    node_places[place].store(at, std::memory_order_relaxed);
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
    if (token == kNobody || node == 0 || node > kNodeHandle) return;
    if (const Change change; change) tell(token, node, held);
}

void node_may_change(uint64_t node) {
    const Change change;
    if (!change) return graphs_may_be_gone();
    for (size_t i = 0; i < kPlacesOfNode; ++i) {
        ToldNode& there = told_at(place_of_node(node, i));
        if (handle_in(there) == node) forget(there);
    }
}

KnownNodes::KnownNodes(uint64_t graph) : token_(token_of(graph)) {}

bool KnownNodes::look_up(uint64_t node, uint64_t& told, uint64_t& value) {
    for (size_t i = 0; i < kPlacesOfNode && token_ != 0; ++i)
        if (is_at(node_places[place_of_node(node, i)].load(std::memory_order_relaxed), node, told, value))
            return true;
    return false;
}

void forget_nodes() {
    graphs_may_be_gone();
    for (Graph& graph : graphs) graph.token.store(kNobody, std::memory_order_relaxed);
    is_changing.store(false, std::memory_order_relaxed);
}

}  // namespace gpushim::shim
