// Graphs as a whole and what they consist of: made, cloned, asked for nodes and edges, given edges,
// destroyed.
#include "graph.h"

namespace gpusim::driver {
namespace {

struct EdgeOut {
    GraphNode* from;
    GraphNode* to;
    CUgraphEdgeData data;
};

// Copies edges out; any of the three arrays may be absent. Without room for edge data, edges must not have
// any.
CUresult hand_out(const std::vector<EdgeOut>& edges, CUgraphNode* from, CUgraphNode* to,
                  CUgraphEdgeData* data, size_t* count) {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const bool counts_only = from == nullptr && to == nullptr && data == nullptr;
    const size_t room = counts_only ? 0 : *count;
    for (size_t i = 0; i < room; ++i) {
        const EdgeOut edge = i < edges.size() ? edges[i] : EdgeOut{};
        if (data == nullptr && !graph::is_plain(edge.data)) return CUDA_ERROR_LOSSY_QUERY;
        if (from != nullptr) from[i] = handle_of(edge.from);
        if (to != nullptr) to[i] = handle_of(edge.to);
        if (data != nullptr) data[i] = edge.data;
    }
    *count = counts_only ? edges.size() : std::min(room, edges.size());
    return CUDA_SUCCESS;
}

std::vector<EdgeOut> edges_of(const Graph& graph) {
    std::vector<EdgeOut> all;
    for (GraphNode* node : graph.nodes)
        for (const Edge& edge : node->dependencies) all.push_back({edge.from, node, edge.data});
    return all;
}

std::vector<EdgeOut> edges_into(GraphNode& node) {
    std::vector<EdgeOut> all;
    for (const Edge& edge : node.dependencies) all.push_back({edge.from, &node, edge.data});
    return all;
}

std::vector<EdgeOut> edges_out_of(const GraphNode& node) {
    std::vector<EdgeOut> all;
    std::unordered_set<const GraphNode*> seen;  // two edges of different data lead to one dependent twice
    for (GraphNode* dependent : node.dependents) {
        if (!seen.insert(dependent).second) continue;
        for (const Edge& edge : dependent->dependencies)
            if (edge.from == &node) all.push_back({edge.from, dependent, edge.data});
    }
    return all;
}

// Carries out `change` for each of the pairs given, if all of them are nodes of this graph.
template <class Change>
CUresult for_each_edge(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                       const CUgraphEdgeData* data, size_t count, const Change& change) {
    const auto held = engine::lock();
    const Graph* graph = graphs().find(handle);
    if (graph == nullptr || (count != 0 && (from == nullptr || to == nullptr)))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i) {
        const GraphNode *source = graph_nodes().find(from[i]), *target = graph_nodes().find(to[i]);
        if (source == nullptr || target == nullptr || source->graph != graph || target->graph != graph)
            return CUDA_ERROR_INVALID_VALUE;
    }
    for (size_t i = 0; i < count; ++i) {
        const Edge edge{graph_nodes().find(from[i]), data != nullptr ? data[i] : CUgraphEdgeData{}};
        if (!change(*graph, *graph_nodes().find(to[i]), edge)) return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

// The answer about one living node, or one living graph.
template <class Answer>
CUresult about_node(CUgraphNode handle, const Answer& answer) {
    const auto held = engine::lock();
    GraphNode* node = graph_nodes().find(handle);
    return node != nullptr ? answer(*node) : CUDA_ERROR_INVALID_VALUE;
}

template <class Answer>
CUresult about_graph(CUgraph handle, const Answer& answer) {
    const auto held = engine::lock();
    Graph* graph = graphs().find(handle);
    return graph != nullptr ? answer(*graph) : CUDA_ERROR_INVALID_VALUE;
}

CUgraph give_handle(const std::shared_ptr<Graph>& graph) {
    graph->handle = graph;
    return handle_of(graph.get());
}

}  // namespace
}  // namespace gpusim::driver

using namespace gpusim;
using namespace gpusim::driver;

API(cuGraphCreate)(CUgraph* graph, unsigned flags) {
    if (graph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    *graph = give_handle(graph::make());
    return CUDA_SUCCESS;
}

API(cuGraphDestroy)(CUgraph handle) {
    return about_graph(handle, [](Graph& graph) {
        if (graph.handle == nullptr || graph.captures != 0) return CUDA_ERROR_INVALID_VALUE;
        const auto last = std::move(graph.handle);
        return CUDA_SUCCESS;
    });
}

API(cuGraphClone)(CUgraph* clone, CUgraph handle) {
    return about_graph(handle, [clone](const Graph& graph) {
        if (clone == nullptr || graph::has_memory_nodes(graph)) return CUDA_ERROR_INVALID_VALUE;
        *clone = give_handle(graph::clone(graph));
        return CUDA_SUCCESS;
    });
}

API(cuGraphNodeFindInClone)(CUgraphNode* twin, CUgraphNode original, CUgraph clone) {
    const auto held = engine::lock();
    const GraphNode* node = graph_nodes().find(original);
    const Graph* graph = graphs().find(clone);
    if (twin == nullptr || node == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (GraphNode* candidate : graph->nodes)
        if (candidate->origin == node->id) {
            *twin = handle_of(candidate);
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

API(cuGraphGetNodes)(CUgraph handle, CUgraphNode* nodes, size_t* count) {
    return about_graph(handle,
                       [=](const Graph& graph) { return graph::hand_out(graph.nodes, nodes, count); });
}

API(cuGraphGetRootNodes)(CUgraph handle, CUgraphNode* nodes, size_t* count) {
    return about_graph(handle, [=](const Graph& graph) {
        std::vector<GraphNode*> roots;
        for (GraphNode* node : graph.nodes)
            if (node->dependencies.empty()) roots.push_back(node);
        return graph::hand_out(roots, nodes, count);
    });
}

API(cuGraphNodeGetType)(CUgraphNode handle, CUgraphNodeType* type) {
    return about_node(handle, [=](const GraphNode& node) {
        if (type == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *type = node.type();
        return CUDA_SUCCESS;
    });
}

API(cuGraphDestroyNode)(CUgraphNode handle) {
    return about_node(handle, [](GraphNode& node) {
        if (graph::has_memory_nodes(*node.graph) || node.graph->captures != 0)
            return CUDA_ERROR_INVALID_VALUE;
        graph::remove_node(node);
        return CUDA_SUCCESS;
    });
}

API(cuGraphGetEdges_v2)
(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count) {
    if ((from == nullptr) != (to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    return about_graph(handle, [=](const Graph& graph) {
        return gpusim::driver::hand_out(edges_of(graph), from, to, data, count);
    });
}
API(cuGraphGetEdges)(CUgraph handle, CUgraphNode* from, CUgraphNode* to, size_t* count) {
    return sim_cuGraphGetEdges_v2(handle, from, to, nullptr, count);
}

API(cuGraphNodeGetDependencies_v2)
(CUgraphNode handle, CUgraphNode* nodes, CUgraphEdgeData* data, size_t* count) {
    return about_node(handle, [=](GraphNode& node) {
        return gpusim::driver::hand_out(edges_into(node), nodes, nullptr, data, count);
    });
}
API(cuGraphNodeGetDependencies)(CUgraphNode handle, CUgraphNode* nodes, size_t* count) {
    return sim_cuGraphNodeGetDependencies_v2(handle, nodes, nullptr, count);
}

API(cuGraphNodeGetDependentNodes_v2)
(CUgraphNode handle, CUgraphNode* nodes, CUgraphEdgeData* data, size_t* count) {
    return about_node(handle, [=](const GraphNode& node) {
        return gpusim::driver::hand_out(edges_out_of(node), nullptr, nodes, data, count);
    });
}
API(cuGraphNodeGetDependentNodes)(CUgraphNode handle, CUgraphNode* nodes, size_t* count) {
    return sim_cuGraphNodeGetDependentNodes_v2(handle, nodes, nullptr, count);
}

API(cuGraphAddDependencies_v2)
(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* data, size_t count) {
    return for_each_edge(
        handle, from, to, data, count, [](const Graph&, GraphNode& target, const Edge& edge) {
            return edge.from != &target && graph::is_allowed(edge.data, edge.from->type(), target.type()) &&
                   graph::add_edge(target, edge);
        });
}
API(cuGraphAddDependencies)(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
    return sim_cuGraphAddDependencies_v2(handle, from, to, nullptr, count);
}

API(cuGraphRemoveDependencies_v2)
(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* data, size_t count) {
    return for_each_edge(handle, from, to, data, count,
                         [](const Graph& graph, GraphNode& target, const Edge& edge) {
                             return !graph::has_memory_nodes(graph) && graph::remove_edge(target, edge);
                         });
}
API(cuGraphRemoveDependencies)(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
    return sim_cuGraphRemoveDependencies_v2(handle, from, to, nullptr, count);
}
