// Objects by their life: which object did this handle mean at that time? The driver uses values again as soon
// as an object is gone, and events of different threads arrive in any order, so every question carries its
// time.
//
//   calls   create ├──┤ = h      destroy(h) ├──┤   create ├──┤ = h
//   lives              [life 1              )                [life 2 …
//
// A life begins when the call that made it has returned and ends when the one that ends it is entered: nobody
// can use the handle outside of that. What an object lives in takes it along when it ends (module and
// functions). The writer's thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "../sqlite/database.h"
#include "tables.h"

namespace gpushim::shim {

// In the order of the traits of_stream, of_event, … (calls/api.h).
enum class Object : uint8_t {
    none,
    stream,
    event,
    context,
    module,
    library,
    function,
    kernel,
    graph,
    exec,
    pool,
    array,
    communicator,
    count
};
const char* object_name(Object object);
Object object_of(const std::string& name);
bool is_home(Object object, Object parent);  // whether it lives in what it was made in

// How long what has ended is still remembered: for calls that began before and are told late.
constexpr int64_t kRemember_ns = 10'000'000'000;
constexpr int64_t kForEver = std::numeric_limits<int64_t>::max();

struct Life {
    int64_t id = 0;
    Object object = Object::none;
    uint64_t handle = 0;
    int64_t since_ns = 0;  // from when on the handle means it
    int64_t born_ns = kNull;
    int64_t died_ns = kForEver;
    int64_t extra = kNull;
    int64_t name_id = kNull;
    int64_t row_id = kNull;     // of its own table: stream, graph, communicator
    int64_t parent_id = kNull;  // what it was made in or from
    Life* home = nullptr;       // what it lives in: it ends with that
    Life* older = nullptr;      // the lives before and after it of the same handle: a program that makes and
    Life* newer = nullptr;      // ends objects all the time has thousands of them within kRemember_ns
    Life* child = nullptr;
    Life* sibling = nullptr;  // the next one in the same home, and the one before it
    Life* previous = nullptr;
    bool primary = false;  // a device's primary context
    bool written = false;
    bool end_written = false;
    bool asked = false;  // for its name

    bool is_at(int64_t time_ns) const { return since_ns <= time_ns && time_ns < died_ns; }
};

class Handles {
  public:
    // Of more functions than that at a time, one stands for all others.
    explicit Handles(Tables& tables, size_t most_functions = 65536)
        : tables_(tables), most_functions_(most_functions) {}
    void load(Database& base);

    // Whatever still had that handle ends.
    Life& born(Object object, uint64_t handle, int64_t time_ns, int64_t parent_id = kNull,
               int64_t extra = kNull);
    void lives_in(Life& life, Life& home);
    void died(Life& life,
              int64_t time_ns);  // or earlier, if that is told of one whose handle was given out again
    void name(Life& life, int64_t name_id);

    Life* find(Object object, uint64_t handle, int64_t time_ns);
    // One that is not known was there before it was first seen.
    Life& at(Object object, uint64_t handle, int64_t time_ns);

    // Of that device; null: not seen.
    Life* primary_context(int64_t device, int64_t time_ns);

    void add_rows();  // of what was born and what ended since the last call
    void forget_before(int64_t time_ns);
    std::unordered_map<int64_t, Life*> by_id();  // of all that are remembered
    size_t remembered() const { return lives_.size() - free_.size(); }
    Life* other_function() const { return other_; }  // null: all have had a place
    uint64_t left_out() const { return left_out_; }  // how often one had none

  private:
    struct Key {
        uint64_t handle;
        Object object;
        bool operator==(const Key&) const = default;
    };
    struct Hash {
        size_t operator()(const Key& key) const {
            return (key.handle ^ static_cast<uint64_t>(key.object) << 56) * 0x9e3779b97f4a7c15 >> 20;
        }
    };
    static Key key_of(Object object, uint64_t handle);
    Life& make(Object object, uint64_t handle, int64_t since_ns);
    static bool is_code(Object object);
    static int64_t remembered_from(Database& base);
    bool has_place_for(Object object) const;
    Life& other();
    void unlink(Life& life);

    Tables& tables_;
    const size_t most_functions_;
    size_t functions_ = 0;
    Life* other_ = nullptr;
    uint64_t left_out_ = 0;
    std::deque<Life> lives_;
    std::vector<Life*> free_;
    std::unordered_map<Key, Life*, Hash> newest_;
    std::vector<Life*> unwritten_;
    std::vector<Life*> ended_;  // whose end is not written
    std::deque<Life*> dead_;    // in the order in which they were told
    int64_t last_id_ = 0;
};

}  // namespace gpushim::shim
