#include "graph.h"

#include <algorithm>

#include "graph_memory.h"
#include "graph_user_object.h"

namespace gpusim::driver {
namespace {

template <class T>
Registry<T>& living() {
    static auto* const registry = new Registry<T>;
    return *registry;
}

uint64_t next_graph_id() {
    static uint64_t last = 0;
    return ++last;
}

// In the order of Work's alternatives.
constexpr CUgraphNodeType kTypes[] = {
    CU_GRAPH_NODE_TYPE_EMPTY,      CU_GRAPH_NODE_TYPE_KERNEL,       CU_GRAPH_NODE_TYPE_MEMCPY,
    CU_GRAPH_NODE_TYPE_MEMSET,     CU_GRAPH_NODE_TYPE_HOST,         CU_GRAPH_NODE_TYPE_EVENT_RECORD,
    CU_GRAPH_NODE_TYPE_WAIT_EVENT, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, CU_GRAPH_NODE_TYPE_MEM_ALLOC,
    CU_GRAPH_NODE_TYPE_MEM_FREE,   CU_GRAPH_NODE_TYPE_GRAPH};
static_assert(std::size(kTypes) == std::variant_size_v<Work>);

bool same(const CUgraphEdgeData& a, const CUgraphEdgeData& b) {
    return a.from_port == b.from_port && a.to_port == b.to_port && a.type == b.type;
}

}  // namespace

Registry<Graph>& graphs() { return living<Graph>(); }
Registry<GraphNode>& graph_nodes() { return living<GraphNode>(); }
Registry<GraphExec>& graph_execs() { return living<GraphExec>(); }

CUgraphNodeType GraphNode::type() const { return kTypes[work.index()]; }

Graph::~Graph() {
    for (GraphNode* node : nodes) {
        graph_memory::let_go(node->work);
        graph_nodes().destroy(node);
    }
    for (const auto& [object, count] : user_objects) user_object::release(*object, count);
}

namespace graph {

std::shared_ptr<Graph> make() {
    std::shared_ptr<Graph> made(graphs().make(), [](Graph* graph) { graphs().destroy(graph); });
    made->id = next_graph_id();
    return made;
}

Work own(const Work& work) {
    Work mine = work;
    if (auto* child = std::get_if<ChildWork>(&mine)) child->graph = clone(*child->graph);
    return mine;
}

std::shared_ptr<Graph> clone(const Graph& original) {
    auto copy = make();
    std::unordered_map<const GraphNode*, GraphNode*> twins;
    for (const GraphNode* node : original.nodes) {
        GraphNode* twin = add_node(*copy, own(node->work), node->context, {});
        twin->origin = node->id;
        twin->enabled = node->enabled;
        twins[node] = twin;
    }
    for (const GraphNode* node : original.nodes)
        for (const Edge& edge : node->dependencies) add_edge(*twins[node], {twins[edge.from], edge.data});
    for (const auto& [object, count] : original.user_objects) {
        user_object::retain(*object, count);
        copy->user_objects[object] = count;
    }
    return copy;
}

GraphNode* add_node(Graph& graph, Work work, Context* context, std::vector<Edge> dependencies) {
    GraphNode* node = graph_nodes().make();
    node->graph = &graph;
    node->id = next_graph_id();
    graph_memory::hold(work, context);
    node->work = std::move(work);
    node->context = context;
    graph.nodes.push_back(node);
    for (const Edge& edge : dependencies) add_edge(*node, edge);
    return node;
}

void remove_node(GraphNode& node) {
    for (const Edge& edge : node.dependencies) std::erase(edge.from->dependents, &node);
    for (GraphNode* dependent : node.dependents)
        std::erase_if(dependent->dependencies, [&node](const Edge& edge) { return edge.from == &node; });
    std::erase(node.graph->nodes, &node);
    graph_nodes().destroy(&node);
}

bool add_edge(GraphNode& to, const Edge& edge) {
    for (const Edge& known : to.dependencies)
        if (known.from == edge.from && same(known.data, edge.data)) return false;
    to.dependencies.push_back(edge);
    edge.from->dependents.push_back(&to);
    return true;
}

bool remove_edge(GraphNode& to, const Edge& edge) {
    const auto found = std::find_if(
        to.dependencies.begin(), to.dependencies.end(),
        [&edge](const Edge& known) { return known.from == edge.from && same(known.data, edge.data); });
    if (found == to.dependencies.end()) return false;
    to.dependencies.erase(found);
    edge.from->dependents.erase(std::find(edge.from->dependents.begin(), edge.from->dependents.end(), &to));
    return true;
}

bool is_plain(const CUgraphEdgeData& data) { return same(data, CUgraphEdgeData{}); }

bool is_allowed(const CUgraphEdgeData& data, CUgraphNodeType from, CUgraphNodeType to) {
    if (is_plain(data)) return true;
    const bool programmatic = data.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC &&
                              (data.from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC ||
                               data.from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER);
    return programmatic && data.to_port == 0 && from == CU_GRAPH_NODE_TYPE_KERNEL &&
           to == CU_GRAPH_NODE_TYPE_KERNEL;
}

CUresult read_edges(const Graph& graph, const CUgraphNode* nodes, const CUgraphEdgeData* data, size_t count,
                    std::vector<Edge>& edges) {
    if (count != 0 && nodes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::unordered_set<const GraphNode*> seen;
    for (size_t i = 0; i < count; ++i) {
        GraphNode* from = graph_nodes().find(nodes[i]);
        if (from == nullptr || from->graph != &graph || !seen.insert(from).second)
            return CUDA_ERROR_INVALID_VALUE;
        edges.push_back({from, data != nullptr ? data[i] : CUgraphEdgeData{}});
    }
    return CUDA_SUCCESS;
}

bool has_memory_nodes(const Graph& graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const GraphNode* node) {
        const auto* child = std::get_if<ChildWork>(&node->work);
        return std::holds_alternative<AllocWork>(node->work) ||
               std::holds_alternative<FreeWork>(node->work) ||
               (child != nullptr && has_memory_nodes(*child->graph));
    });
}

CUresult hand_out(const std::vector<GraphNode*>& nodes, CUgraphNode* out, size_t* count) {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (out != nullptr)
        for (size_t i = 0; i < *count; ++i) out[i] = i < nodes.size() ? handle_of(nodes[i]) : nullptr;
    *count = out == nullptr ? nodes.size() : std::min(*count, nodes.size());
    return CUDA_SUCCESS;
}

}  // namespace graph
}  // namespace gpusim::driver
