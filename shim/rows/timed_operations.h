// Which rows got events of ours: ties the `timed` slots of a ring to the rows that its operations became.
// Slot and operation may come in different batches, in either order; a row's id is final only when the whole
// batch has its starts. What a batch that fails has added is forgotten, and comes again with the next try.
// The writer's thread only.
//
//   start_batch   operation, timed, …   settle   written        or start_batch again: it was not
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "batch.h"
#include "observer.h"
#include "tables.h"

namespace gpushim::shim {

class TimedOperations {
  public:
    void start_batch();
    // A launch, copy, memset or graph launch: the newest row of its table.
    void operation(const Event& event, const Rows& rows);
    void timed(const Event& event);
    void settle(const Tables& tables);  // the rows have their final ids
    void written();

    // Those of the last batch, by stream, in order. Events of slots whose operation never came have no row:
    // enter_ns is kNull, and they are free.
    std::span<const TimedOperation> list() const { return list_; }

  private:
    struct Newest {  // operation of a ring
        uint64_t position = UINT64_MAX;
        size_t row = 0;
        bool is_settled = false;
        TimedOperation operation = {};
    };
    struct Pair {
        TimedOperation operation;
        size_t row;
    };
    struct Waiting {  // a slot whose operation has not come
        uint64_t ring_id;
        uint64_t position;
        uint64_t batch;
        bool is_paired;  // in this batch
        TimedOperation operation;
    };
    void pair_waiting(uint64_t ring_id, const Newest& newest);

    std::unordered_map<uint64_t, Newest> newest_;
    uint64_t last_ring_ = UINT64_MAX;
    Newest* last_ = nullptr;
    std::vector<Pair> pairs_;
    std::vector<Waiting> waiting_;
    std::vector<TimedOperation> list_;
    uint64_t batch_ = 0;
};

}  // namespace gpushim::shim
