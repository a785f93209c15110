#include "handles.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace gpushim::shim {
namespace {

constexpr const char* kObjectNames[] = {"none",    "stream",   "event",       "context", "module",
                                        "library", "function", "kernel",      "graph",   "exec",
                                        "pool",    "array",    "communicator"};
static_assert(std::size(kObjectNames) == static_cast<size_t>(Object::count));

}  // namespace

Object object_of(const std::string& name) {
    for (size_t i = 0; i < std::size(kObjectNames); ++i)
        if (name == kObjectNames[i]) return static_cast<Object>(i);
    return Object::none;
}

// Code ends with what it was loaded into; graphs, streams and split communicators outlive what they were made
// from.
bool is_home(Object object, Object parent) {
    if (object == Object::module) return parent == Object::context || parent == Object::library;
    return object == Object::function || object == Object::kernel;
}

const char* object_name(Object object) { return kObjectNames[static_cast<size_t>(object)]; }

bool Handles::is_code(Object object) { return object == Object::function || object == Object::kernel; }

// A kernel's handle goes wherever a function's is asked for.
Handles::Key Handles::key_of(Object object, uint64_t handle) {
    return {handle, object == Object::kernel ? Object::function : object};
}

Life& Handles::make(Object object, uint64_t handle, int64_t since_ns) {
    if (free_.empty()) free_.push_back(&lives_.emplace_back());
    Life& life = *free_.back();
    free_.pop_back();
    life = {};
    life.id = ++last_id_;
    life.object = object;
    life.handle = handle;
    life.since_ns = since_ns;
    Life*& newest = newest_[key_of(object, handle)];
    life.older = newest;
    while (life.older != nullptr && life.older->since_ns > since_ns) {
        life.newer = life.older;
        life.older = life.older->older;
    }
    if (life.older != nullptr) life.older->newer = &life;
    (life.newer != nullptr ? life.newer->older : newest) = &life;
    unwritten_.push_back(&life);
    if (is_code(object)) ++functions_;
    return life;
}

bool Handles::has_place_for(Object object) const { return !is_code(object) || functions_ < most_functions_; }

// It has no handle, lives in nothing and never ends.
Life& Handles::other() {
    ++left_out_;
    if (other_ == nullptr) {
        other_ = &make(Object::function, 0, 0);
        other_->asked = true;
        --functions_;
    }
    return *other_;
}

Life& Handles::born(Object object, uint64_t handle, int64_t time_ns, int64_t parent_id, int64_t extra) {
    if (Life* before = find(object, handle, time_ns)) died(*before, time_ns);
    if (!has_place_for(object)) return other();
    Life& life = make(object, handle, time_ns);
    life.born_ns = time_ns;
    life.parent_id = parent_id;
    life.extra = extra;
    return life;
}

void Handles::lives_in(Life& life, Life& home) {
    if (life.home != nullptr || &life == &home || &life == other_) return;
    life.home = &home;
    life.sibling = home.child;
    life.previous = nullptr;
    if (home.child != nullptr) home.child->previous = &life;
    home.child = &life;
}

void Handles::died(Life& life, int64_t time_ns) {
    if (life.died_ns <= time_ns || life.end_written) return;
    if (life.died_ns == kForEver) {
        dead_.push_back(&life);
        ended_.push_back(&life);
    }
    life.died_ns = std::max(time_ns, life.since_ns);
    for (Life* child = life.child; child != nullptr; child = child->sibling) died(*child, time_ns);
}

void Handles::name(Life& life, int64_t name_id) {
    if (life.name_id != kNull) return;
    life.name_id = name_id;
    if (life.written) tables_.handle_name.add({.handle_id = life.id, .name_id = name_id});
}

Life* Handles::find(Object object, uint64_t handle, int64_t time_ns) {
    const auto found = newest_.find(key_of(object, handle));
    if (found == newest_.end()) return nullptr;
    for (Life* life = found->second; life != nullptr; life = life->older)
        if (life->since_ns <= time_ns) return time_ns < life->died_ns ? life : nullptr;
    return nullptr;
}

Life& Handles::at(Object object, uint64_t handle, int64_t time_ns) {
    Life* life = find(object, handle, time_ns);
    if (life != nullptr) return *life;
    return has_place_for(object) ? make(object, handle, time_ns) : other();
}

Life* Handles::primary_context(int64_t device, int64_t time_ns) {
    for (Life& life : lives_)
        if (life.primary && life.extra == device && life.is_at(time_ns)) return &life;
    return nullptr;
}

void Handles::add_rows() {
    for (Life* life : unwritten_) {
        life->written = true;
        life->end_written = life->died_ns != kForEver;
        tables_.handle.add({.id = life->id,
                            .kind = tables_.handle.text(object_name(life->object)),
                            .handle = static_cast<int64_t>(life->handle),
                            .born_ns = life->born_ns,
                            .died_ns = life->died_ns == kForEver ? kNull : life->died_ns,
                            .parent_id = life->parent_id,
                            .extra = life->extra,
                            .name_id = life->name_id});
    }
    for (Life* life : ended_) {
        if (!life->end_written) tables_.handle_end.add({.handle_id = life->id, .died_ns = life->died_ns});
        life->end_written = true;
    }
    unwritten_.clear();
    ended_.clear();
}

void Handles::unlink(Life& life) {
    if (is_code(life.object)) --functions_;
    if (life.older != nullptr) life.older->newer = life.newer;
    if (life.newer != nullptr)
        life.newer->older = life.older;
    else if (life.older != nullptr)
        newest_[key_of(life.object, life.handle)] = life.older;
    else
        newest_.erase(key_of(life.object, life.handle));
    for (Life* child = life.child; child != nullptr; child = child->sibling) child->home = nullptr;
    if (life.home == nullptr) return;
    if (life.sibling != nullptr) life.sibling->previous = life.previous;
    (life.previous != nullptr ? life.previous->sibling : life.home->child) = life.sibling;
}

void Handles::forget_before(int64_t time_ns) {
    while (!dead_.empty() && dead_.front()->died_ns < time_ns) {
        unlink(*dead_.front());
        *dead_.front() = {};
        free_.push_back(dead_.front());
        dead_.pop_front();
    }
}

std::unordered_map<int64_t, Life*> Handles::by_id() {
    std::unordered_map<int64_t, Life*> lives;
    for (Life& life : lives_)
        if (life.id != 0) lives[life.id] = &life;
    return lives;
}

// Those that ended long ago are in the way only: a trace may have millions.
int64_t Handles::remembered_from(Database& base) {
    Statement row = base.prepare("SELECT coalesce(max(watermark_ns), 0) FROM ring_commit");
    row.step();
    const int64_t from_ns = row.number(0) - kRemember_ns;
    row.step();
    return from_ns;
}

void Handles::load(Database& base) {
    Statement rows = base.prepare(
        "SELECT h.id, h.kind, h.handle, h.born_ns, coalesce(h.died_ns, e.died_ns), h.parent_id, h.extra,"
        " coalesce(h.name_id, n.name_id) FROM handle h LEFT JOIN handle_end e ON e.handle_id = h.id"
        " LEFT JOIN handle_name n ON n.handle_id = h.id"
        " WHERE coalesce(h.died_ns, e.died_ns, ?1) >= ?1 ORDER BY h.id");
    rows.bind(1, remembered_from(base));
    std::unordered_map<int64_t, Life*> known;
    while (rows.step()) {
        const int64_t born_ns = rows.number(3);
        last_id_ = rows.number(0) - 1;
        Life& life = make(object_of(rows.text(1)), static_cast<uint64_t>(rows.number(2)),
                          born_ns == kNull ? 0 : born_ns);
        life.born_ns = born_ns;
        life.extra = rows.number(6);
        life.name_id = rows.number(7);
        life.written = true;
        known[life.id] = &life;
        if (is_code(life.object) && life.handle == 0) other_ = &life, --functions_;
        life.parent_id = rows.number(5);
        const auto home = known.find(life.parent_id);
        if (home != known.end() && is_home(life.object, home->second->object)) lives_in(life, *home->second);
        if (rows.number(4) == kNull) continue;
        life.died_ns = rows.number(4);
        life.end_written = true;
        dead_.push_back(&life);
    }
    unwritten_.clear();
    Statement last = base.prepare("SELECT coalesce(max(id), 0) FROM handle");
    last.step();
    last_id_ = last.number(0);
    last.step();
}

}  // namespace gpushim::shim
