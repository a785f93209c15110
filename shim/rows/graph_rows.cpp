#include "graph_rows.h"

#include <utility>

namespace gpushim::shim {

void GraphRows::graph(const Call& call) {
    Life* life = target(call, call.handle());
    if (life != nullptr && life->object == Object::exec && call.succeeded) change(call, *life);
    add_call(call, life != nullptr ? life->id : kNull, kNull);
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
