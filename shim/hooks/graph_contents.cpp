#include "graph_contents.h"

#include <sys/mman.h>

#include "../base/system.h"
#include "../calls/driver_api.h"
#include "../calls/resolve.h"
#include "../calls/unanswered.h"
#include "../program/function_names.h"
#include "cuda_words.h"
#include "look_budget.h"

namespace gpushim::shim {
namespace {

constexpr size_t kMostNames = 8192;    // functions of one graph that are asked for their names
constexpr int kDeepest = 32;           // child graphs in child graphs
constexpr uint64_t kGapsAtOnce = 500;  // that long looks may take in a row: 25 ms (ProcessState::gap_ticks)
constexpr size_t kFewNodes = 4'000;    // making a graph of so many takes longer than looking at it, far

constinit LookBudget budget;

// The driver's functions. An older one tells kernels in the older form, whose fields are the first of the
// newer.
struct Questions {
    decltype(::cuGraphGetNodes)* nodes;
    decltype(::cuGraphNodeGetType)* type;
    decltype(::cuGraphKernelNodeGetParams_v2)* kernel;
    decltype(::cuGraphMemcpyNodeGetParams)* copy;
    decltype(::cuGraphChildGraphNodeGetGraph)* child;

    template <class F>
    static void find(F*& function, const char* name) {
        function = reinterpret_cast<F*>(driver_function(name));
    }
    Questions() {
        find(nodes, "cuGraphGetNodes");
        find(type, "cuGraphNodeGetType");
        find(kernel, "cuGraphKernelNodeGetParams_v2");
        if (kernel == nullptr) find(kernel, "cuGraphKernelNodeGetParams");
        find(copy, "cuGraphMemcpyNodeGetParams");
        find(child, "cuGraphChildGraphNodeGetGraph");
    }
};

// Where handles are kept while nodes are gone through. The pages that are not needed are never made.
class Scratch {
  public:
    struct Room {
        CUgraphNode nodes[kMostNodes];
        uint64_t named[kMostNames];
    };

    Scratch() {
        void* memory = mmap(nullptr, sizeof(Room), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        room_ = memory == MAP_FAILED ? nullptr : static_cast<Room*>(memory);
    }
    ~Scratch() {
        if (room_ != nullptr) munmap(room_, sizeof(Room));
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    Room* room() { return room_; }

  private:
    Room* room_;
};

template <class E>
bool write(ThreadState& thread, const E& words) {
    Slot* slot = open_slot(thread, kNoApi, E::kind, 0);
    if (slot == nullptr) return false;
    put_words(*slot, words);
    slot->exit = slot->enter;
    complete_slot(slot);
    return true;
}

void skip(ThreadState& thread, uint64_t exec, uint64_t below) {
    write(thread, event::graph_content{exec, below, 0, static_cast<uint64_t>(GraphTelling::skipped)});
}

class Walk {
  public:
    Walk(ThreadState& thread, Scratch::Room& room, size_t most_nodes)
        : thread_(thread), room_(room), most_nodes_(most_nodes) {}

    bool tell(CUgraph graph, uint64_t exec, uint64_t below) {
        return mark(exec, below, GraphTelling::begins) && tell_graph(graph, 0) && flush() &&
               mark(exec, below, GraphTelling::ends);
    }
    uint64_t told() const { return told_; }
    bool had_too_many() const { return had_too_many_; }

  private:
    bool mark(uint64_t exec, uint64_t below, GraphTelling telling) {
        return write(thread_, event::graph_content{exec, below, told_, static_cast<uint64_t>(telling)});
    }

    bool flush() {
        if (told_ % 2 == 0) return true;
        pair_.second = pair_.second_holds = 0;
        return write(thread_, pair_);
    }

    bool tell_node(GraphNode kind, CUgraphNode node, uint64_t value) {
        const bool is_first = told_++ % 2 == 0;
        (is_first ? pair_.first : pair_.second) = words::number(node) | static_cast<uint64_t>(kind)
                                                                            << kNodeShift;
        (is_first ? pair_.first_holds : pair_.second_holds) = value;
        return is_first || write(thread_, pair_);
    }

    bool tell_graph(CUgraph graph, int depth) {
        size_t count = 0;
        if (depth > kDeepest || !nodes_of(graph, nullptr, count)) return false;
        if (count == 0) return true;
        if (count > kMostNodes - used_ || told_ + count > most_nodes_) {
            had_too_many_ = true;
            return false;
        }
        CUgraphNode* nodes = room_.nodes + used_;
        used_ += count;
        if (!nodes_of(graph, nodes, count)) return false;
        for (size_t i = 0; i < count; ++i)
            if (!tell(nodes[i], depth)) return false;
        used_ = static_cast<size_t>(nodes - room_.nodes);
        return true;
    }

    bool nodes_of(CUgraph graph, CUgraphNode* nodes, size_t& count) const {
        return answers(Question::cuGraphGetNodes, ask_.nodes, graph, nodes, &count);
    }

    bool tell(CUgraphNode node, int depth) {
        CUgraphNodeType type = {};
        if (!answers(Question::cuGraphNodeGetType, ask_.type, node, &type)) return false;
        switch (type) {
            case CU_GRAPH_NODE_TYPE_KERNEL:
                return tell_kernel(node);
            case CU_GRAPH_NODE_TYPE_MEMCPY:
                return tell_copy(node);
            case CU_GRAPH_NODE_TYPE_MEMSET:
                return tell_node(GraphNode::memset, node, 0);
            case CU_GRAPH_NODE_TYPE_GRAPH:
                return tell_child(node, depth);
            case CU_GRAPH_NODE_TYPE_CONDITIONAL:
                return false;  // how often its body runs, only the device knows
            default:
                return tell_node(GraphNode::other, node, 0);
        }
    }

    bool tell_kernel(CUgraphNode node) {
        CUDA_KERNEL_NODE_PARAMS_v2 params = {};
        if (!answers(Question::cuGraphKernelNodeGetParams, ask_.kernel, node, &params)) return false;
        const uint64_t function = function_of(params);
        const auto kind = params.func != nullptr ? FunctionHandle::function : FunctionHandle::kernel;
        if (is_first(function)) tell_name(thread_, function, kind);
        return tell_node(GraphNode::kernel, node, function);
    }

    static uint64_t function_of(const CUDA_KERNEL_NODE_PARAMS_v2& params) {
        return params.func != nullptr ? words::number(params.func) : words::number(params.kern);
    }

    // That it is a copy is true even of one that the driver does not describe.
    bool tell_copy(CUgraphNode node) {
        CUDA_MEMCPY3D shape = {};
        const bool is_described = answers(Question::cuGraphMemcpyNodeGetParams, ask_.copy, node, &shape);
        return tell_node(GraphNode::copy, node, is_described ? words::bytes_of(shape) : kNotTold);
    }

    bool tell_child(CUgraphNode node, int depth) {
        CUgraph graph = nullptr;
        return answers(Question::cuGraphChildGraphNodeGetGraph, ask_.child, node, &graph) &&
               tell_node(GraphNode::child, node, 0) && tell_graph(graph, depth + 1) &&
               tell_node(GraphNode::end, node, 0);
    }

    bool is_first(uint64_t function) {
        const size_t start = function * 0x9e3779b97f4a7c15 >> 51;
        static_assert(kMostNames == size_t{1} << (64 - 51));
        for (size_t i = 0; i < kMostTries; ++i) {
            uint64_t& there = room_.named[(start + i) % kMostNames];
            if (there == function) return false;
            if (there != 0) continue;
            there = function;
            return true;
        }
        return true;
    }
    static constexpr size_t kMostTries = 64;

    ThreadState& thread_;
    Scratch::Room& room_;
    const size_t most_nodes_;
    Questions ask_;
    size_t used_ = 0;
    uint64_t told_ = 0;
    bool had_too_many_ = false;
    event::graph_nodes pair_ = {};
};

// Where the call took it from, and below which node it put it.
struct Source {
    uint64_t graph;
    uint64_t below;
};

Source source_of(const event::graph& update) {
    switch (static_cast<GraphChange>(update.change)) {
        case GraphChange::contents:
            return {update.node, 0};
        case GraphChange::child:
            return {update.value, update.node};
        default:
            return {};
    }
}

// An update keeps the nodes and what kinds they are, so there is something to go by without another look.
void look(ThreadState& thread, bool is_update, const Source& source, uint64_t exec) {
    const uint64_t from = ticks();
    const bool is_allowed = budget.allows(from);
    if (is_update && !is_allowed) return skip(thread, exec, source.below);
    Scratch scratch;
    if (scratch.room() == nullptr) return;
    Walk walk(thread, *scratch.room(), is_allowed && !is_update ? kMostNodes : kFewNodes);
    walk.tell(reinterpret_cast<CUgraph>(source.graph), exec, source.below);
    if (is_update && walk.had_too_many()) skip(thread, exec, source.below);
    if (!is_update && walk.told() <= kFewNodes) return;
    const uint64_t now = ticks();
    budget.took(now - from, now, kGapsAtOnce * process_state->gap_ticks);
}

void tell(ThreadState& thread, bool is_update, const Source& source, uint64_t exec) {
    if (source.graph == 0) return;
    const KeepErrno keep;
    const uint64_t started = ticks();
    look(thread, is_update, source, exec);
    const uint64_t over = ticks();
    if (thread.ring != nullptr) add(thread.ring->own_ticks, over - started);
    // What the thread did since the call was ours.
    if (thread.last_exit != 0) thread.last_exit = over;
}

}  // namespace

void tell_contents(ThreadState& thread, const event::born& exec) {
    tell(thread, false, {exec.parent, 0}, exec.handle);
}

void tell_contents(ThreadState& thread, const event::graph& update) {
    if (update.change == static_cast<uint64_t>(GraphChange::function)) {
        if (process_state->wanted.load(std::memory_order_relaxed) != 0) answer_name(thread, update.value);
        return;
    }
    tell(thread, true, source_of(update), update.handle);
}

}  // namespace gpushim::shim
