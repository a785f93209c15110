// The collectives of all ranks of a run: matched, and then asked by the parts how long a kernel of one waited
// for other ranks. In this order: add (what comm_calls.h read, one trace after the other), match, waits_of
// (any thread), write. One thread, but for that.
#pragma once

#include <map>
#include <memory>
#include <span>

#include "../pass/facts.h"
#include "../pass/trace_pass.h"
#include "comm_calls.h"

namespace gpushim::analysis {

class RunDb;
struct CollectiveRun;

class Collectives {
  public:
    Collectives();
    ~Collectives();

    void add(const TraceFacts& facts, std::vector<CommSeat> read);  // by rank; they must outlive this object
    void match();
    // Of the rank's kernels of collectives those of which it is known; until write.
    LaunchWaits waits_of(int64_t rank_id) const;
    const CollectiveRun& all() const;  // when they are matched
    void write(RunDb& run);            // when all traces' parts have written their rows, which it reads

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace gpushim::analysis
