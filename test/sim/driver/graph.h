// Graphs: work as nodes and edges, to be launched any number of times. A node holds the same Work that a
// stream takes. An executable graph owns a clone, so what happens to the original later does not touch it;
// its nodes are found by the original nodes' numbers. Handles are addresses of objects in registries, as
// everywhere (objects.h). All under engine::lock().
#pragma once

#include "work.h"

namespace gpusim::driver {

struct GraphNode;
struct UserObject;

struct Edge {
    GraphNode* from = nullptr;
    CUgraphEdgeData data{};
};

struct GraphNode {
    Graph* graph = nullptr;
    uint64_t id = 0;      // never used twice
    uint64_t origin = 0;  // the id of the node that this one is a clone of
    Work work;
    Context* context = nullptr;  // where it runs
    std::vector<Edge> dependencies;
    std::vector<GraphNode*> dependents;
    size_t position = 0;  // in Graph::order
    bool enabled = true;  // looked at in executable graphs only

    CUgraphNodeType type() const;
};

struct Graph : std::enable_shared_from_this<Graph> {
    uint64_t id = 0;
    std::vector<GraphNode*> nodes;                 // in the order in which they were added
    std::vector<GraphNode*> order;                 // executable graphs: as launched
    std::map<UserObject*, unsigned> user_objects;  // references held
    std::shared_ptr<Graph> handle;  // itself while the program's handle owns it; empty in child graphs
    int captures = 0;               // recording into it now
    int executables = 0;            // instantiated from it and alive

    Graph() = default;
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    ~Graph();
};

struct GraphExec {
    std::shared_ptr<Graph> graph;
    std::weak_ptr<Graph> source;
    std::unordered_map<uint64_t, GraphNode*> by_origin;  // child graphs' nodes, too
    cuuint64_t flags = 0;
    Point last;  // the end of its latest launch: launches of one executable graph do not overlap

    ~GraphExec();
};

Registry<Graph>& graphs();
Registry<GraphNode>& graph_nodes();
Registry<GraphExec>& graph_execs();

inline CUgraph handle_of(Graph* graph) { return reinterpret_cast<CUgraph>(graph); }
inline CUgraphNode handle_of(GraphNode* node) { return reinterpret_cast<CUgraphNode>(node); }
inline CUgraphExec handle_of(GraphExec* exec) { return reinterpret_cast<CUgraphExec>(exec); }

namespace graph {

std::shared_ptr<Graph> make();
std::shared_ptr<Graph> clone(const Graph& original);

GraphNode* add_node(Graph& graph, Work work, Context* context, std::vector<Edge> dependencies);
void remove_node(GraphNode& node);
bool add_edge(GraphNode& to, const Edge& edge);  // false: there is one already
bool remove_edge(GraphNode& to, const Edge& edge);

// Dependencies as a program gives them. INVALID_VALUE: null, dead, doubled, of another graph, bad edge data.
CUresult read_edges(const Graph& graph, const CUgraphNode* nodes, const CUgraphEdgeData* data, size_t count,
                    std::vector<Edge>& edges);
bool is_plain(const CUgraphEdgeData& data);
// Whether edge data may stand between these two nodes.
bool is_allowed(const CUgraphEdgeData& data, CUgraphNodeType from, CUgraphNodeType to);

// A copy for another node: a child graph has one owner, so the copy gets a clone of it.
Work own(const Work& work);

// Whether it, or a child graph of it, has nodes that allocate or free: such graphs cannot be cloned or
// reduced.
bool has_memory_nodes(const Graph& graph);

// Fills Graph::order here and in child graphs. False: there is a cycle, and `culprit` is on or behind it.
bool sort(Graph& graph, GraphNode*& culprit);

// Issues all of a sorted graph; its first nodes come after `after`. The end of all.
Point issue(const Graph& graph, const Place& place, const Point& after);

// Copies handles out as all of the query functions do: null asks for the count, room left over is nulled.
CUresult hand_out(const std::vector<GraphNode*>& nodes, CUgraphNode* out, size_t* count);

}  // namespace graph
}  // namespace gpusim::driver
