// Communicators by names that are the same in all processes, and the number of every collective on them. A
// name is the hash of the unique id; of a split or shrunken one, of its parent's name, which split of the
// parent it is, and the colour or the excluded ranks. Collectives are counted per communicator,
// point-to-point calls per (communicator, source, destination). The writer's thread only.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "../sqlite/database.h"
#include "handles.h"

namespace gpushim::shim {

class Communicators {
  public:
    Communicators(Tables& tables, Handles& handles) : tables_(tables), handles_(handles) {}
    void load(Database& base);

    struct Birth {
        int64_t rank, ranks;  // kNull: not known
        uint64_t hash;        // of the unique id; colour or excluded ranks
        int64_t device;
        Life* parent;
    };
    void born(Life& communicator, const Birth& birth);
    // A split of `parent` that gave this process no communicator counts all the same.
    void split(Life& parent);

    int64_t row(Life& communicator);
    int64_t rank_of(Life& communicator) { return of(communicator).rank; }
    int64_t next_of_collectives(Life& communicator);
    int64_t next_between(Life& communicator, int64_t peer, bool sends);
    // Rows that say how far those have counted that did since the last time.
    void add_counts();

  private:
    struct Communicator {
        uint64_t uid = 0;
        int64_t splits = 0;
        int64_t rank = kNull;
    };
    // A communicator's row, the rank of the other one, whether we send; kNoPeer: its collectives.
    using Counter = std::tuple<int64_t, int64_t, bool>;
    static constexpr int64_t kNoPeer = -1;
    Communicator& of(Life& life);
    int64_t next(Life& communicator, int64_t peer, bool sends);

    Tables& tables_;
    Handles& handles_;
    std::unordered_map<int64_t, Communicator> known_;  // by row
    std::map<Counter, int64_t> counts_;
    std::set<Counter> counted_;
    int64_t last_id_ = 0;
};

int64_t dtype_bytes(int64_t dtype);  // kNull: not known

}  // namespace gpushim::shim
