#include "graphs.h"

namespace gpushim::shim {

void Graphs::add(const Life& graph, Node node) { ++graphs_[graph.id].of[static_cast<size_t>(node)]; }

void Graphs::add_unknown(const Life& graph) { graphs_[graph.id].sure = false; }

void Graphs::copied(const Life& graph, const Life& from) { graphs_[graph.id] = graphs_[from.id]; }

void Graphs::died(const Life& graph) { graphs_.erase(graph.id); }

void Graphs::capture_begins(int64_t stream_id, const Life* into) {
    Nodes& nodes = captures_[stream_id];
    nodes = {};
    if (into != nullptr) nodes = graphs_[into->id];
    if (captures_.size() == 1) return;
    for (auto& [stream, open] : captures_) open.sure = false;
}

void Graphs::captured(Node node) {
    if (captures_.size() == 1) ++captures_.begin()->second.of[static_cast<size_t>(node)];
}

void Graphs::capture_ends(int64_t stream_id, const Life* graph) {
    const auto found = captures_.find(stream_id);
    if (found == captures_.end()) return;
    if (graph != nullptr) graphs_[graph->id] = found->second;
    captures_.erase(found);
}

void Graphs::add_row(Life& exec, const Nodes* nodes) {
    exec.row_id = ++last_id_;
    const auto count = [nodes](Node node) {
        return nodes != nullptr && nodes->sure ? nodes->of[static_cast<size_t>(node)] : kNull;
    };
    tables_.graph.add(exec.row_id, exec.id, count(Node::kernel), count(Node::copy), count(Node::memset),
                      count(Node::other), kNull);
}

void Graphs::instantiated(Life& exec, const Life* graph) {
    const auto found = graph == nullptr ? graphs_.end() : graphs_.find(graph->id);
    add_row(exec, found == graphs_.end() ? nullptr : &found->second);
}

int64_t Graphs::row(Life& exec) {
    if (exec.row_id == kNull) add_row(exec, nullptr);
    return exec.row_id;
}

void Graphs::load(Database& base, Handles& handles) {
    auto lives = handles.by_id();
    Statement rows = base.prepare("SELECT id, handle_id FROM graph ORDER BY id");
    while (rows.step()) {
        last_id_ = rows.number(0);
        const auto life = lives.find(rows.number(1));
        if (life != lives.end()) life->second->row_id = last_id_;
    }
}

}  // namespace gpushim::shim
