#include "graph_update.h"

#include "graph_params.h"

namespace gpusim::driver::graph {
namespace {

struct Pair {
    GraphNode* old;
    GraphNode* now;
};

bool fail(CUgraphExecUpdateResultInfo& info, CUgraphExecUpdateResult why, GraphNode* node,
          GraphNode* from = nullptr) {
    info = {why, handle_of(node), handle_of(from)};
    return false;
}

std::vector<GraphNode*> exits(const Graph& graph) {
    std::vector<GraphNode*> found;
    for (GraphNode* node : graph.nodes)
        if (node->dependents.empty()) found.push_back(node);
    return found;
}

// Nodes are paired from the exits backwards, dependency by dependency, in the order of the edges.
class Pairing {
  public:
    explicit Pairing(CUgraphExecUpdateResultInfo& info) : info_(info) {}

    bool match(const Graph& executable, const Graph& from) {
        if (executable.nodes.size() != from.nodes.size()) return changed(nullptr);
        const auto old_exits = exits(executable), new_exits = exits(from);
        if (old_exits.size() != new_exits.size())
            return changed(new_exits.empty() ? nullptr : new_exits.back());
        for (size_t i = 0; i < old_exits.size(); ++i)
            if (!meet(old_exits[i], new_exits[i], nullptr)) return false;
        for (size_t next = 0; next < pairs_.size(); ++next)
            if (!match_dependencies(pairs_[next])) return false;
        return true;
    }

    const std::vector<Pair>& pairs() const { return pairs_; }

  private:
    bool changed(GraphNode* node, GraphNode* from = nullptr) {
        return fail(info_, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, node, from);
    }

    bool meet(GraphNode* old, GraphNode* now, GraphNode* dependent) {
        const auto [there, first_old] = new_of_.emplace(old, now);
        const bool first_now = old_of_.emplace(now, old).second;
        if (first_old && first_now) pairs_.push_back({old, now});
        return first_old == first_now && there->second == now ? true : changed(dependent, now);
    }

    bool match_dependencies(Pair pair) {
        const auto &old = pair.old->dependencies, &now = pair.now->dependencies;
        if (old.size() != now.size()) return changed(pair.now);
        for (size_t i = 0; i < old.size(); ++i)
            if (!meet(old[i].from, now[i].from, pair.now)) return false;
        return true;
    }

    CUgraphExecUpdateResultInfo& info_;
    std::unordered_map<GraphNode*, GraphNode*> new_of_, old_of_;
    std::vector<Pair> pairs_;
};

// Adds what is to be taken over, child graphs included.
bool plan(const Graph& executable, const Graph& from, std::vector<Pair>& changes,
          CUgraphExecUpdateResultInfo& info) {
    Pairing pairing(info);
    if (!pairing.match(executable, from)) return false;
    for (const Pair& pair : pairing.pairs()) {
        const auto verdict = may_become(*pair.old, pair.now->work, pair.now->context);
        if (verdict != CU_GRAPH_EXEC_UPDATE_SUCCESS) return fail(info, verdict, pair.now);
        if (const auto* child = std::get_if<ChildWork>(&pair.old->work)) {
            if (!plan(*child->graph, *std::get<ChildWork>(pair.now->work).graph, changes, info)) return false;
        } else {
            changes.push_back(pair);
        }
    }
    return true;
}

}  // namespace

bool update(Graph& executable, const Graph& from, CUgraphExecUpdateResultInfo& info) {
    std::vector<Pair> changes;
    if (!plan(executable, from, changes, info)) return false;
    for (const Pair& change : changes) {
        change.old->work = change.now->work;
        change.old->context = change.now->context;
    }
    info = {CU_GRAPH_EXEC_UPDATE_SUCCESS, nullptr, nullptr};
    return true;
}

}  // namespace gpusim::driver::graph

using namespace gpusim;
using namespace gpusim::driver;

API(cuGraphExecUpdate_v2)(CUgraphExec exec_handle, CUgraph graph_handle, CUgraphExecUpdateResultInfo* info) {
    if (info == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    GraphExec* exec = graph_execs().find(exec_handle);
    const Graph* from = graphs().find(graph_handle);
    *info = {CU_GRAPH_EXEC_UPDATE_ERROR, nullptr, nullptr};
    if (exec == nullptr || from == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return graph::update(*exec->graph, *from, *info) ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

API(cuGraphExecUpdate)
(CUgraphExec exec, CUgraph graph, CUgraphNode* error_node, CUgraphExecUpdateResult* result) {
    CUgraphExecUpdateResultInfo info{};
    const CUresult done = sim_cuGraphExecUpdate_v2(exec, graph, &info);
    if (error_node != nullptr) *error_node = info.errorNode;
    if (result != nullptr) *result = info.result;
    return done;
}

API(cuGraphExecChildGraphNodeSetParams)
(CUgraphExec exec_handle, CUgraphNode node_handle, CUgraph child_handle) {
    const auto held = engine::lock();
    GraphExec* exec = graph_execs().find(exec_handle);
    const GraphNode* node = graph_nodes().find(node_handle);
    const Graph* from = graphs().find(child_handle);
    if (exec == nullptr || node == nullptr || from == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto found = exec->by_origin.find(node->id);
    if (found == exec->by_origin.end()) return CUDA_ERROR_INVALID_VALUE;
    auto* child = std::get_if<ChildWork>(&found->second->work);
    CUgraphExecUpdateResultInfo info{};
    return child != nullptr && graph::update(*child->graph, *from, info) ? CUDA_SUCCESS
                                                                         : CUDA_ERROR_INVALID_VALUE;
}
