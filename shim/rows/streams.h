// Contexts by their number and streams by handle: which stream, of which context and device, did a call mean?
// Stream 0 is the context's legacy stream, or the thread's own one where the call says so. The writer's
// thread only.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "../sqlite/database.h"
#include "handles.h"

namespace gpushim::shim {

class Streams {
  public:
    Streams(Tables& tables, Handles& handles) : tables_(tables), handles_(handles) {}
    void load(Database& base);

    // The context that threads carry as this number is that object from now on.
    void context(uint32_t number, Life& life);
    Life* context_life(uint32_t number) const;
    int64_t device(uint32_t context) const;  // kNull: not known

    void born(Life& stream, uint32_t context, int64_t flags, int64_t priority);
    struct Use {
        uint64_t handle;
        uint32_t context;
        int32_t thread;
        bool per_thread;  // stream 0 is the thread's own
        int64_t time_ns;
    };
    int64_t of(const Use& use);     // its row
    Life* life_of(const Use& use);  // null: a default stream
    // Of a thread that has ended: rows of the default streams that it had for itself.
    std::vector<int64_t> forget_thread(int64_t number);

  private:
    struct Cached {
        uint64_t handle;
        Life* life;
        int64_t id;
    };
    static constexpr size_t kCached = 64;
    static bool is_default(uint64_t handle) { return handle <= 2; }
    int64_t default_stream(const Use& use);

    Tables& tables_;
    Handles& handles_;
    struct Context {
        Life* life;
        int64_t life_id;
        int64_t device;
    };
    std::unordered_map<uint32_t, Context> contexts_;
    std::unordered_map<uint64_t, int64_t> defaults_;
    Cached cached_[kCached] = {};
    int64_t last_id_ = 0;
    int64_t only_device_ = kNull;
};

}  // namespace gpushim::shim
