#include "graph_contents.h"

#include <sys/mman.h>

#include <atomic>

#include "../base/system.h"
#include "../calls/asked.h"
#include "../calls/driver_api.h"
#include "../calls/unanswered.h"
#include "../program/function_names.h"
#include "../timing/known_nodes.h"
#include "counters.h"
#include "cuda_words.h"
#include "look_budget.h"

namespace gpushim::shim {
namespace {

constexpr int kDeepest = 32;           // child graphs in child graphs
constexpr uint64_t kGapsAtOnce = 500;  // that long looks may take in a row: 25 ms (ProcessState::gap_ticks)
constexpr size_t kAhead = 16;  // of nodes in no order, so many are looked for while the first is on its way
constexpr size_t kFewNodes = 4'000;  // making a graph of so many takes longer than looking at it, far

constinit LookBudget budget;

ASKED(driver_function, cuGraphGetNodes);
ASKED(driver_function, cuGraphNodeGetType);
ASKED(driver_function, cuGraphKernelNodeGetParams);
ASKED(driver_function, cuGraphKernelNodeGetParams_v2);
ASKED(driver_function, cuGraphMemcpyNodeGetParams);
ASKED(driver_function, cuGraphChildGraphNodeGetGraph);

// An older driver tells kernels in the older form, whose fields are the first of the newer.
using AskKernel = decltype(::cuGraphKernelNodeGetParams_v2);
AskKernel* ask_kernel() {
    if (auto* newer = asked_cuGraphKernelNodeGetParams_v2.get(); newer != nullptr) return newer;
    return reinterpret_cast<AskKernel*>(asked_cuGraphKernelNodeGetParams.get());
}

// Where handles are kept while nodes are gone through. Pages that are not needed are never made. Of two
// threads at a time, the second gets memory of its own.
using Room = CUgraphNode[kMostNodes];
constinit Room shared_room = {};
constinit std::atomic<bool> is_shared_room_taken = false;

class Scratch {
  public:
    Scratch() : is_shared_(!is_shared_room_taken.exchange(true, std::memory_order_acquire)) {
        if (is_shared_) return;
        memory_ = mmap(nullptr, sizeof(Room), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    ~Scratch() {
        if (is_shared_)
            is_shared_room_taken.store(false, std::memory_order_release);
        else if (memory_ != MAP_FAILED)
            munmap(memory_, sizeof(Room));
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    CUgraphNode* room() {  // null: none to be had
        if (is_shared_) return shared_room;
        return memory_ != MAP_FAILED ? static_cast<CUgraphNode*>(memory_) : nullptr;
    }

  private:
    const bool is_shared_;
    void* memory_ = MAP_FAILED;
};

void skip(ThreadState& thread, uint64_t exec, uint64_t below) {
    put_slot(thread, ticks(),
             event::graph_content{exec, below, 0, static_cast<uint64_t>(GraphTelling::skipped)});
}

class Walk {
  public:
    Walk(ThreadState& thread, CUgraphNode* room, CUgraph graph, size_t most_nodes)
        : thread_(thread),
          room_(room),
          graph_(graph),
          most_nodes_(most_nodes),
          known_(is_all_seen() ? words::number(graph) : 0) {}

    bool tell(uint64_t exec, uint64_t below) {
        return mark(exec, below, GraphTelling::begins) && tell_graph(graph_, 0) && flush() &&
               mark(exec, below, GraphTelling::ends);
    }
    uint64_t told() const { return told_; }
    bool had_too_many() const { return had_too_many_; }

  private:
    // A call that the tables do not know may change nodes, and goes past us.
    static bool is_all_seen() { return counters.unknown_abi.load(std::memory_order_relaxed) == 0; }

    bool mark(uint64_t exec, uint64_t below, GraphTelling telling) {
        return put_slot(thread_, now_,
                        event::graph_content{exec, below, told_, static_cast<uint64_t>(telling)});
    }

    bool flush() { return told_ % 2 == 0 || put_slot(thread_, now_, pair_); }

    bool tell_node(GraphNode kind, CUgraphNode node, uint64_t value) {
        return put_node(words::number(node) | static_cast<uint64_t>(kind) << kNodeShift, value);
    }

    [[gnu::always_inline]] inline bool put_node(uint64_t told, uint64_t value) {
        if (told_++ % 2 == 0) {
            pair_.first = told;
            pair_.first_holds = value;
            return true;
        }
        return put_slot(thread_, now_, event::graph_nodes{pair_.first, pair_.first_holds, told, value});
    }

    bool tell_graph(CUgraph graph, int depth) {
        size_t count = 0;
        if (depth > kDeepest || !nodes_of(graph, nullptr, count)) return false;
        if (count == 0) return true;
        if (count > kMostNodes - used_ || told_ + count > most_nodes_) {
            had_too_many_ = true;
            return false;
        }
        CUgraphNode* nodes = room_ + used_;
        used_ += count;
        if (!nodes_of(graph, nodes, count)) return false;
        for (size_t i = 0; i < count; ++i) {
            if (depth == 0 && i + kAhead < count) known_.will_find(words::number(nodes[i + kAhead]));
            uint64_t told = 0, value = 0;
            const bool is_known = depth == 0 && known_.find(words::number(nodes[i]), told, value) &&
                                  (told >> kNodeShift != kKernel || has_name(value));
            if (!(is_known ? put_node(told, value) : ask_and_tell(nodes[i], depth))) return false;
        }
        used_ = static_cast<size_t>(nodes - room_);
        return true;
    }

    bool nodes_of(CUgraph graph, CUgraphNode* nodes, size_t& count) const {
        return answers(Question::cuGraphGetNodes, asked_cuGraphGetNodes.get(), graph, nodes, &count);
    }

    static constexpr auto kKernel = static_cast<uint64_t>(GraphNode::kernel);

    bool ask_and_tell(CUgraphNode node, int depth) {
        CUgraphNodeType type = {};
        if (!answers(Question::cuGraphNodeGetType, asked_cuGraphNodeGetType.get(), node, &type)) return false;
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
        if (!answers(Question::cuGraphKernelNodeGetParams, ask_kernel_, node, &params)) return false;
        const uint64_t function = function_of(params);
        const auto kind = params.func != nullptr ? FunctionHandle::function : FunctionHandle::kernel;
        if (!is_name_told(function)) {
            tell_name(thread_, function, kind);
            now_ = ticks();
        }
        return tell_node(GraphNode::kernel, node, function);
    }

    static uint64_t function_of(const CUDA_KERNEL_NODE_PARAMS_v2& params) {
        return params.func != nullptr ? words::number(params.func) : words::number(params.kern);
    }

    // That it is a copy is true even of one that the driver does not describe.
    bool tell_copy(CUgraphNode node) {
        CUDA_MEMCPY3D shape = {};
        const bool is_described = answers(Question::cuGraphMemcpyNodeGetParams,
                                          asked_cuGraphMemcpyNodeGetParams.get(), node, &shape);
        return tell_node(GraphNode::copy, node, is_described ? words::bytes_of(shape) : kNotTold);
    }

    bool tell_child(CUgraphNode node, int depth) {
        CUgraph graph = nullptr;
        return answers(Question::cuGraphChildGraphNodeGetGraph, asked_cuGraphChildGraphNodeGetGraph.get(),
                       node, &graph) &&
               tell_node(GraphNode::child, node, 0) && tell_graph(graph, depth + 1) &&
               tell_node(GraphNode::end, node, 0);
    }

    bool has_name(uint64_t function) {
        uint64_t& named = named_[function * 0x9e3779b97f4a7c15 >> 58];
        if (named != function && is_name_told(function)) named = function;
        return named == function;
    }

    ThreadState& thread_;
    uint64_t now_ = ticks();
    uint64_t named_[64] = {};  // functions, for the shortest way to most of them
    AskKernel* const ask_kernel_ = ask_kernel();
    CUgraphNode* const room_;
    const CUgraph graph_;
    const size_t most_nodes_;
    KnownNodes known_;  // of the graph itself, not of those in it
    size_t used_ = 0;
    uint64_t told_ = 0;
    bool had_too_many_ = false;
    event::graph_nodes pair_ = {};  // its second node is never there
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
    Walk walk(thread, scratch.room(), reinterpret_cast<CUgraph>(source.graph),
              is_allowed && !is_update ? kMostNodes : kFewNodes);
    walk.tell(exec, source.below);
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
