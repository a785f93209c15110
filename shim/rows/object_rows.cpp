#include "object_rows.h"

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

}  // namespace

Life* ObjectRows::parent_of(const Call& call) {
    const Object object =
        parent_object(call.object(), call.event.slot.kind == static_cast<uint8_t>(EventKind::named));
    const uint64_t parent = call.words<event::born>().parent;
    if (object != Object::none && parent != 0) return &handles_.at(object, parent, call.enter_ns);
    return call.object() == Object::module ? streams_.context_life(call.event.slot.context) : nullptr;
}

// Calls that hand out the object that is there, if it is.
bool ObjectRows::is_the_same(const Life& life, const Call& call, const Life* parent) const {
    if (call.object() == Object::context) return life.primary && call.has(traits::primary);
    const bool handed_out = call.object() == Object::function || call.object() == Object::kernel ||
                            (call.object() == Object::module && call.words<event::born>().parent != 0);
    if (!handed_out) return false;
    return life.parent_id == kNull || (parent != nullptr && life.parent_id == parent->id);
}

Life& ObjectRows::begin_life(const Call& call, bool has_extra) {
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

void ObjectRows::born(const Call& call) {
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
void ObjectRows::released_primary(const Call& call) {
    const auto words = call.words<event::died>();
    Life* life = handles_.primary_context(static_cast<int64_t>(words.device), call.enter_ns);
    add_call(call, life != nullptr ? life->id : kNull, kNull);
    if (life != nullptr && call.succeeded && words.still_active == 0) handles_.died(*life, call.enter_ns);
}

void ObjectRows::died(const Call& call) {
    if (call.has(traits::primary)) return released_primary(call);
    Life* life = target(call, call.handle());
    add_call(call, life != nullptr ? life->id : kNull, kNull);
    if (life == nullptr || !call.succeeded) return;
    handles_.died(*life, call.enter_ns);
    if (life->object == Object::exec) graphs_.died(*life);
}

// Also the answer to our own question for a name, which is no call of the program's.
void ObjectRows::named(const Call& call) {
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

// Also the answer to our own question which one is current, which is no call of the program's.
void ObjectRows::context(const Call& call) {
    const auto words = call.words<event::context>();
    Life* life = call.succeeded && words.handle != 0
                     ? &handles_.at(Object::context, words.handle, call.event.exit_ns)
                     : nullptr;
    if (life != nullptr && life->extra == kNull && words.device_plus_1 != 0)
        life->extra = static_cast<int64_t>(words.device_plus_1) - 1;  // nobody saw it being made
    if (life != nullptr) streams_.context(call.event.slot.context, *life);
    if (call.event.slot.api != kNoApi) add_call(call, life != nullptr ? life->id : kNull, kNull);
}

void ObjectRows::capture(const Call& call) {
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

}  // namespace gpushim::shim
