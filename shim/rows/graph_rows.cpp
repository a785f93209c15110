#include "graph_rows.h"

#include <utility>

namespace gpushim::shim {

void GraphRows::graph(const Call& call) {
    Life* life = target(call, call.handle());
    const bool is_exec = life != nullptr && life->object == Object::exec;
    if (is_exec && call.succeeded) change(call, *life);
    HeldFromCall held;
    if (call.succeeded) held = is_exec ? held_by_exec(call) : held_by_graph(call);
    add_call(call, life != nullptr ? life->id : kNull, kNull, held);
}

HeldFromCall GraphRows::held_by_exec(const Call& call) {
    const auto words = call.words<event::graph>();
    const auto node = static_cast<int64_t>(words.node);
    switch (static_cast<GraphChange>(words.change)) {
        case GraphChange::contents:
            return {id_of_graph(call, words.node), kNull};
        case GraphChange::child:
            return {id_of_graph(call, words.value), node};
        case GraphChange::function:
            return {function_of(call, words.value), node};
        default:
            return {};
    }
}

// Of calls that add nodes only child graphs: what the others put there is known from captures and contents.
// A call that changes a node names no graph.
HeldFromCall GraphRows::held_by_graph(const Call& call) {
    const auto words = call.words<event::graph>();
    const bool changes_node = words.handle == 0;
    const int64_t id =
        changes_node && words.value != 0 ? function_of(call, words.value) : id_of_graph(call, words.value);
    if (id == kNull) return {};
    return {id, static_cast<int64_t>(words.node)};
}

int64_t GraphRows::id_of_graph(const Call& call, uint64_t handle) {
    const Life* graph = handle != 0 ? handles_.find(Object::graph, handle, call.enter_ns) : nullptr;
    return graph != nullptr ? graph->id : kNull;
}

void GraphRows::change(const Call& call, Life& exec) {
    const auto words = call.words<event::graph>();
    const auto what = static_cast<GraphChange>(words.change);
    const bool of_kernel = what == GraphChange::function;
    graphs_.changed(exec, what, words.node,
                    of_kernel ? function_of(call, words.value) : static_cast<int64_t>(words.value));
}

int64_t GraphRows::function_of(const Call& call, uint64_t handle) {
    Life& function = handles_.at(Object::function, handle, call.enter_ns);
    ask_name(function);
    return function.id;
}

void GraphRows::content(const Call& call) {
    const auto words = call.words<event::graph_content>();
    const auto telling = static_cast<GraphTelling>(words.telling);
    if (telling == GraphTelling::begins) return graphs_.telling_begins(call.thread);
    Life& exec = handles_.at(Object::exec, words.exec, call.enter_ns);
    if (telling == GraphTelling::ends)
        graphs_.telling_ends(call.thread, exec, words.below, words.told);
    else
        graphs_.stays_as_it_was(exec, words.below);
}

void GraphRows::nodes(const Call& call) {
    const auto words = call.words<event::graph_nodes>();
    const std::pair<uint64_t, uint64_t> both[] = {{words.first, words.first_holds},
                                                  {words.second, words.second_holds}};
    for (const auto& [node, told] : both) {
        if (node == 0) return;
        const auto kind = static_cast<GraphNode>(node >> kNodeShift);
        int64_t value = told == kNotTold ? kNull : static_cast<int64_t>(told);
        if (kind == GraphNode::kernel) value = handles_.at(Object::function, told, call.enter_ns).id;
        graphs_.tells(call.thread, kind, node & kNodeHandle, value);
    }
}

}  // namespace gpushim::shim
