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
    if (object != Object::none && call.word(1) != 0) return &handles_.at(object, call.word(1), call.enter_ns);
    return call.object() == Object::module ? streams_.context_life(call.event.slot.context) : nullptr;
}

// Calls that hand out the object that is there, if it is.
bool Translator::is_the_same(const Life& life, const Call& call, const Life* parent) const {
    if (call.object() == Object::context) return life.primary && call.has(traits::primary);
    const bool handed_out = call.object() == Object::function || call.object() == Object::kernel ||
                            (call.object() == Object::module && call.word(1) != 0);
    if (!handed_out) return false;
    return life.parent_id == kNull || (parent != nullptr && life.parent_id == parent->id);
}

Life& Translator::begin_life(const Call& call, bool has_extra) {
    Life* parent = parent_of(call);
    Life* there = handles_.find(call.object(), call.word(0), call.event.exit_ns);
    if (there != nullptr && is_the_same(*there, call, parent)) return *there;
    Life& life = handles_.born(call.object(), call.word(0), call.event.exit_ns,
                               parent != nullptr ? parent->id : kNull, or_null(has_extra, call.word(2)));
    if (parent != nullptr && is_home(life.object, parent->object)) handles_.lives_in(life, *parent);
    life.primary = call.object() == Object::context && call.has(traits::primary);
    return life;
}

void Translator::born(const Call& call) {
    if (!call.succeeded || call.word(0) == 0 || call.object() == Object::none)
        return add_call(call, kNull, kNull);
    const Object object = call.object();
    const bool has_extra = object == Object::context || object == Object::stream || object == Object::event;
    Life& life = begin_life(call, has_extra);
    add_call(call, life.id, kNull);
    const uint32_t context = call.event.slot.context;
    if (object == Object::stream) {
        const bool has_priority = call.word(3) != 0;
        streams_.born(life, context, life.extra, or_null(has_priority, call.word(3)));
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
    Life* life = handles_.primary_context(static_cast<int64_t>(call.word(2)), call.enter_ns);
    add_call(call, life != nullptr ? life->id : kNull, kNull);
    if (life != nullptr && call.succeeded && call.word(1) == 0) handles_.died(*life, call.enter_ns);
}

void Translator::died(const Call& call) {
    if (call.has(traits::primary)) return released_primary(call);
    Life* life = target(call, call.word(0));
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
            handles_.name(handles_.at(Object::function, call.word(0), call.enter_ns), names_.id(text));
        return;
    }
    if (!call.succeeded || call.word(0) == 0) return add_call(call, kNull, kNull);
    const int64_t name = text.empty() ? kNull : names_.id(text);
    Life* there = handles_.find(call.object(), call.word(0), call.event.exit_ns);
    if (there != nullptr && there->name_id != kNull && there->name_id != name)
        handles_.died(*there, call.event.exit_ns);
    Life& life = begin_life(call, false);
    if (name != kNull) handles_.name(life, name);
    add_call(call, life.id, kNull);
}

void Translator::context(const Call& call) {
    Life* life = call.succeeded && call.word(0) != 0
                     ? &handles_.at(Object::context, call.word(0), call.event.exit_ns)
                     : nullptr;
    if (life != nullptr) streams_.context(call.event.slot.context, *life);
    if (call.event.slot.api != kNoApi) add_call(call, life != nullptr ? life->id : kNull, kNull);
}

void Translator::capture(const Call& call) {
    if (!call.succeeded) return add_call(call, kNull, kNull);
    const int64_t stream_id = stream_of(call, call.word(0));
    const uint64_t handle = call.word(1);
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
    Life* life = target(call, call.word(0));
    if (life != nullptr && life->object == Object::exec && call.succeeded) change_graph(call, *life);
    add_call(call, life != nullptr ? life->id : kNull, kNull);
}

void Translator::change_graph(const Call& call, Life& exec) {
    const auto change = static_cast<GraphChange>(call.word(3));
    const bool of_kernel = change == GraphChange::function;
    graphs_.changed(exec, change, call.word(1),
                    of_kernel ? function_of(call, call.word(2)) : static_cast<int64_t>(call.word(2)));
}

int64_t Translator::function_of(const Call& call, uint64_t handle) {
    Life& function = handles_.at(Object::function, handle, call.enter_ns);
    ask_name(function);
    return function.id;
}

void Translator::graph_content(const Call& call) {
    const auto telling = static_cast<GraphTelling>(call.word(3));
    if (telling == GraphTelling::begins) return graphs_.telling_begins(call.thread);
    Life& exec = handles_.at(Object::exec, call.word(0), call.enter_ns);
    if (telling == GraphTelling::ends)
        graphs_.telling_ends(call.thread, exec, call.word(1), call.word(2));
    else
        graphs_.stays_as_it_was(exec, call.word(1));
}

void Translator::graph_nodes(const Call& call) {
    constexpr uint64_t kHandle = (uint64_t{1} << kNodeShift) - 1;
    for (size_t i = 0; i < 4 && call.word(i) != 0; i += 2) {
        const auto kind = static_cast<GraphNode>(call.word(i) >> kNodeShift);
        const uint64_t told = call.word(i + 1);
        int64_t value = told == kNotTold ? kNull : static_cast<int64_t>(told);
        if (kind == GraphNode::kernel) value = handles_.at(Object::function, told, call.enter_ns).id;
        graphs_.tells(call.thread, kind, call.word(i) & kHandle, value);
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
    if (!call.succeeded || call.word(0) == 0) return tables_.collective.add(made, series_.id(series));
    Life& life = handles_.at(Object::communicator, call.word(0), call.enter_ns);
    const bool between = call.has(traits::sends | traits::receives);
    const auto op = static_cast<int64_t>(call.word(2) >> 8 & 0xffffff);
    const auto peer = static_cast<int64_t>(call.word(2) >> 32);
    made.communicator_id = communicators_.row(life);
    made.seq = between ? communicators_.next_between(life, peer, call.has(traits::sends))
                       : communicators_.next_of_collectives(life);
    made.stream_id = stream_of(call, call.word(3));
    made.count = static_cast<int64_t>(call.word(1));
    made.dtype = static_cast<int64_t>(call.word(2) & 0xff);
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
    Life* parent = splits && call.succeeded && call.word(3) != 0
                       ? &handles_.at(Object::communicator, call.word(3), call.enter_ns)
                       : nullptr;
    if (parent != nullptr) communicators_.split(*parent);
    if (!call.succeeded || call.word(0) == 0)
        return add_call(call, parent != nullptr ? parent->id : kNull, kNull);
    Life& life = handles_.born(Object::communicator, call.word(0), call.event.exit_ns,
                               parent != nullptr ? parent->id : kNull);
    const uint64_t ranks = call.word(1) >> 32;
    const int64_t device = call.has(traits::on_devices) ? static_cast<int64_t>(call.word(3))
                                                        : streams_.device(call.event.slot.context);
    communicators_.born(life, {or_null(ranks != 0, call.word(1) & 0xffffffff), or_null(ranks != 0, ranks),
                               call.word(2), device, parent});
    add_call(call, parent != nullptr ? parent->id : life.id, kNull);
}

}  // namespace gpushim::shim
