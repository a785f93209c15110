// Who holds what of a rank's own stage: a contribution's space is taken when the operation comes and is free
// again once all who read it have their bytes. With the engine's lock.
#pragma once

#include <cstdint>
#include <list>

#include "room.h"

namespace gpusim::nccl {

class Stage {
  public:
    Stage(const Room& room, int rank, int nranks) : room_(room), rank_(rank), nranks_(nranks) {}

    static constexpr uint64_t kFull = ~uint64_t{0};
    // The offset of the space, or kFull.
    uint64_t take_for_round(uint64_t round, uint64_t size_bytes) { return take({0, size_bytes, -1, round}); }
    uint64_t take_for_message(int to, uint64_t message, uint64_t size_bytes) {
        return take({0, size_bytes, to, message});
    }

  private:
    struct Held {
        uint64_t offset;
        uint64_t size_bytes;
        int to;  // the rank that reads it; -1: all
        uint64_t number;
    };
    uint64_t take(Held wanted);
    bool is_read(const Held& held) const;

    const Room& room_;
    int rank_;
    int nranks_;
    std::list<Held> held_;  // by offset
};

}  // namespace gpusim::nccl
