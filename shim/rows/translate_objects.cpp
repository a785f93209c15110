// Births, ends and names of objects; contexts, captures, graphs, communicators and what is called on them.
#include "../calls/api.h"
#include "translator.h"

namespace gpushim::shim {
namespace {

// What the second word of a birth is, by the object born.
Object parent_object(Object object, bool is_named) {
    switch (object) {
        case Object::stream:
        case Object::context:
            return Object::context;
        case Object::module:
            return Object::library;
        case Object::function:
            return is_named ? Object::module : Object::kernel;
        case Object::kernel:
            return Object::library;
        case Object::graph:
        case Object::exec:
            return Object::graph;
        default:
            return Object::none;
    }
}

int64_t or_null(bool there, uint64_t value) { return there ? static_cast<int64_t>(value) : kNull; }

}  // namespace

Life* Translator::parent_of(const Call& call) {
    const Object object =
        parent_object(call.object(), call.event.slot.kind == static_cast<uint8_t>(EventKind::named));
    const uint64_t parent = call.words<event::born>().parent;
    if (object != Object::none && parent != 0) return &handles_.at(object, parent, call.enter_ns);
    return call.object() == Object::module ? streams_.context_life(call.event.slot.context) : nullptr;
}

// Calls that hand out the object that is there, if it is.
bool Translator::is_the_same(const Life& life, const Call& call, const Life* parent) const {
    if (call.object() == Object::context) return life.primary && call.has(traits::primary);
    const bool handed_out = call.object() == Object::function || call.object() == Object::kernel ||
                            (call.object() == Object::module && call.words<event::born>().parent != 0);
    if (!handed_out) return false;
    return life.parent_id == kNull || (parent != nullptr && life.parent_id == parent->id);
}

Life& Translator::begin_life(const Call& call, bool has_extra) {
    Life* parent = parent_of(call);
    const auto words = call.words<event::born>();
    Life* there = handles_.find(call.object(), words.handle, call.event.exit_ns);
    if (there != nullptr && is_the_same(*there, call, parent)) return *there;
    Life& life = handles_.born(call.object(), words.handle, call.event.exit_ns,
                               parent != nullptr ? parent->id : kNull, or_null(has_extra, words.extra));
    if (parent != nullptr && is_home(life.object, parent->object)) handles_.lives_in(life, *parent);
    life.primary = call.object() == Object::context && call.has(traits::primary);
    return life;
}

void Translator::born(const Call& call) {
    if (!call.succeeded || call.handle() == 0 || call.object() == Object::none)
        return add_call(call, kNull, kNull);
    const Object object = call.object();
    const bool has_extra = object == Object::context || object == Object::stream || object == Object::event;
    Life& life = begin_life(call, has_extra);
    add_call(call, life.id, kNull);
    const uint32_t context = call.event.slot.context;
    if (object == Object::stream) {
        const uint64_t priority = call.words<event::born>().priority;
        streams_.born(life, context, life.extra, or_null(priority != 0, priority));
    }
    if (object == Object::context && call.has(traits::current) && streams_.context_life(context) == nullptr)
        streams_.context(context, life);
    if (object == Object::exec) graphs_.instantiated(life);
    const Life* from = parent_of(call);
    if (object == Object::function && life.name_id == kNull && from != nullptr && from->name_id != kNull)
        handles_.name(life, from->name_id);
}

// A primary context ends when nobody retains it any more, or when it is reset.
void Translator::released_primary(const Call& call) {
    const auto words = call.words<event::died>();
    Life* life = handles_.primary_context(static_cast<int64_t>(words.device), call.enter_ns);
    add_call(call, life != nullptr ? life->id : kNull, kNull);
    if (life != nullptr && call.succeeded && words.still_active == 0) handles_.died(*life, call.enter_ns);
}

void Translator::died(const Call& call) {
    if (call.has(traits::primary)) return released_primary(call);
    Life* life = target(call, call.handle());
    add_call(call, life != nullptr ? life->id : kNull, kNull);
    if (life == nullptr || !call.succeeded) return;
    handles_.died(*life, call.enter_ns);
    if (life->object == Object::exec) graphs_.died(*life);
}

// Also the answer to our own question for a name, which is no call of the program's.
void Translator::named(const Call& call) {
    const std::string_view text = call.event.text;
    if (call.event.slot.api == kNoApi) {
        if (!text.empty())
            handles_.name(handles_.at(Object::function, call.handle(), call.enter_ns), names_.id(text));
        return;
    }
    if (!call.succeeded || call.handle() == 0) return add_call(call, kNull, kNull);
    const int64_t name = text.empty() ? kNull : names_.id(text);
    Life* there = handles_.find(call.object(), call.handle(), call.event.exit_ns);
    if (there != nullptr && there->name_id != kNull && there->name_id != name)
        handles_.died(*there, call.event.exit_ns);
    Life& life = begin_life(call, false);
    if (name != kNull) handles_.name(life, name);
    add_call(call, life.id, kNull);
}

void Translator::context(const Call& call) {
    Life* life = call.succeeded && call.handle() != 0
                     ? &handles_.at(Object::context, call.handle(), call.event.exit_ns)
                     : nullptr;
    if (life != nullptr) streams_.context(call.event.slot.context, *life);
    if (call.event.slot.api != kNoApi) add_call(call, life != nullptr ? life->id : kNull, kNull);
}

void Translator::capture(const Call& call) {
    if (!call.succeeded) return add_call(call, kNull, kNull);
    const auto words = call.words<event::capture>();
    const int64_t stream_id = stream_of(call, words.stream);
    const uint64_t handle = words.graph;
    Life* graph = nullptr;
    if (call.has(traits::capture_begins)) {
        if (handle != 0) graph = &handles_.at(Object::graph, handle, call.enter_ns);
    } else {
        // A capture into a graph that was there before hands out that one.
        if (handle != 0) graph = handles_.find(Object::graph, handle, call.event.exit_ns);
        if (handle != 0 && graph == nullptr)
            graph = &handles_.born(Object::graph, handle, call.event.exit_ns);
    }
    add_call(call, graph != nullptr ? graph->id : kNull, stream_id);
}

// --- graphs

void Translator::graph(const Call& call) {
    Life* life = target(call, call.handle());
    if (life != nullptr && life->object == Object::exec && call.succeeded) change_graph(call, *life);
    add_call(call, life != nullptr ? life->id : kNull, kNull);
}

void Translator::change_graph(const Call& call, Life& exec) {
    const auto words = call.words<event::graph>();
    const auto change = static_cast<GraphChange>(words.change);
    const bool of_kernel = change == GraphChange::function;
    graphs_.changed(exec, change, words.node,
                    of_kernel ? function_of(call, words.value) : static_cast<int64_t>(words.value));
}

int64_t Translator::function_of(const Call& call, uint64_t handle) {
    Life& function = handles_.at(Object::function, handle, call.enter_ns);
    ask_name(function);
    return function.id;
}

void Translator::graph_content(const Call& call) {
    const auto words = call.words<event::graph_content>();
    const auto telling = static_cast<GraphTelling>(words.telling);
    if (telling == GraphTelling::begins) return graphs_.telling_begins(call.thread);
    Life& exec = handles_.at(Object::exec, words.exec, call.enter_ns);
    if (telling == GraphTelling::ends)
        graphs_.telling_ends(call.thread, exec, words.below, words.told);
    else
        graphs_.stays_as_it_was(exec, words.below);
}

void Translator::graph_nodes(const Call& call) {
    constexpr uint64_t kHandle = (uint64_t{1} << kNodeShift) - 1;
    const auto words = call.words<event::graph_nodes>();
    const std::pair<uint64_t, uint64_t> nodes[] = {{words.first, words.first_holds},
                                                   {words.second, words.second_holds}};
    for (const auto& [node, told] : nodes) {
        if (node == 0) return;
        const auto kind = static_cast<GraphNode>(node >> kNodeShift);
        int64_t value = told == kNotTold ? kNull : static_cast<int64_t>(told);
        if (kind == GraphNode::kernel) value = handles_.at(Object::function, told, call.enter_ns).id;
        graphs_.tells(call.thread, kind, node & kHandle, value);
    }
}

// --- NCCL

void Translator::collective(const Call& call) {
    Series series = series_of(call, SeriesKind::collective);
    row::collective made = {.enter_ns = call.enter_ns,
                            .dur_ns = call.dur_ns,
                            .thread_id = call.thread,
                            .api_id = call.api,
                            .group_id = call.group,
                            .flags = call.flags};
    const auto words = call.words<event::collective>();
    if (!call.succeeded || words.communicator == 0) return tables_.collective.add(made, series_.id(series));
    Life& life = handles_.at(Object::communicator, words.communicator, call.enter_ns);
    const bool between = call.has(traits::sends | traits::receives);
    const auto op = static_cast<int64_t>(words.how >> 8 & 0xffffff);
    const auto peer = static_cast<int64_t>(words.how >> 32);
    made.communicator_id = communicators_.row(life);
    made.seq = between ? communicators_.next_between(life, peer, call.has(traits::sends))
                       : communicators_.next_of_collectives(life);
    made.stream_id = stream_of(call, words.stream);
    made.count = static_cast<int64_t>(words.count);
    made.dtype = static_cast<int64_t>(words.how & 0xff);
    if (const int64_t size = dtype_bytes(made.dtype); size != kNull) made.bytes = made.count * size;
    if (call.has(traits::reduces)) made.op = op;
    if (between || call.has(traits::rooted)) made.peer = peer;
    series.stream = made.stream_id;
    series.object = made.communicator_id;
    series.detail = {made.dtype, made.op, made.bytes};
    tables_.collective.add(made, series_.id(series));
    if (call.group != kNull) group_on_stream_[made.stream_id] = call.group;
}

// A failed or empty split counts where it succeeded for others: NCCL makes all ranks of the parent call it.
void Translator::communicator(const Call& call) {
    const bool splits = call.has(traits::splits);
    const auto words = call.words<event::communicator>();
    Life* parent = splits && call.succeeded && words.parent != 0
                       ? &handles_.at(Object::communicator, words.parent, call.enter_ns)
                       : nullptr;
    if (parent != nullptr) communicators_.split(*parent);
    if (!call.succeeded || words.handle == 0)
        return add_call(call, parent != nullptr ? parent->id : kNull, kNull);
    Life& life = handles_.born(Object::communicator, words.handle, call.event.exit_ns,
                               parent != nullptr ? parent->id : kNull);
    const uint64_t ranks = words.place >> 32;
    const int64_t device = call.has(traits::on_devices) ? static_cast<int64_t>(words.parent)
                                                        : streams_.device(call.event.slot.context);
    communicators_.born(life, {or_null(ranks != 0, words.place & 0xffffffff), or_null(ranks != 0, ranks),
                               words.unique_id, device, parent});
    add_call(call, parent != nullptr ? parent->id : life.id, kNull);
}

}  // namespace gpushim::shim
