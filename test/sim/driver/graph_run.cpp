// How a graph runs: its order, and its nodes as work on the device.
#include "engine/profile.h"
#include "graph.h"

namespace gpusim::driver {

Point issue_work(const ChildWork& work, const Place& place, const Point& after) {
    return graph::issue(*work.graph, place, after);
}

namespace graph {
namespace {

Point issue_node(const GraphNode& node, Place place, const Point& after) {
    const profile::IssuesNode issues(node.id);
    if (node.context != nullptr) place.context = node.context;
    return std::visit([&](const auto& kind) { return issue_work(kind, place, after); }, node.work);
}

// Which of the nodes left over is on a cycle or behind one: those never come to be without open dependencies.
GraphNode* first_left_over(const Graph& graph, const std::vector<size_t>& waiting_for) {
    for (size_t i = 0; i < graph.nodes.size(); ++i)
        if (waiting_for[i] != 0) return graph.nodes[i];
    return nullptr;
}

bool sort_children(Graph& graph, GraphNode*& culprit) {
    for (GraphNode* node : graph.nodes)
        if (auto* child = std::get_if<ChildWork>(&node->work);
            child != nullptr && !sort(*child->graph, culprit))
            return false;
    return true;
}

}  // namespace

bool sort(Graph& graph, GraphNode*& culprit) {
    std::vector<size_t> waiting_for(graph.nodes.size());
    graph.order.clear();
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
        GraphNode* node = graph.nodes[i];
        node->position = i;
        waiting_for[i] = node->dependencies.size();
        if (waiting_for[i] == 0) graph.order.push_back(node);
    }
    for (size_t next = 0; next < graph.order.size(); ++next)
        for (GraphNode* dependent : graph.order[next]->dependents)
            if (--waiting_for[dependent->position] == 0) graph.order.push_back(dependent);
    culprit = first_left_over(graph, waiting_for);
    for (size_t i = 0; i < graph.order.size(); ++i) graph.order[i]->position = i;
    return culprit == nullptr && sort_children(graph, culprit);
}

Point issue(const Graph& graph, const Place& place, const Point& after) {
    std::vector<Point> ends(graph.order.size());
    Point all = graph.order.empty() ? after : Point{};
    for (const GraphNode* node : graph.order) {
        Point ready = node->dependencies.empty() ? after : Point{};
        for (const Edge& edge : node->dependencies) ready.join(ends[edge.from->position]);
        Point& end = ends[node->position];
        end = node->enabled ? issue_node(*node, place, ready) : std::move(ready);
        if (node->dependents.empty()) all.join(end);
    }
    return all;
}

}  // namespace graph
}  // namespace gpusim::driver
