// The collectives of all ranks of a run: matched, and then asked by the parts how long a kernel of one waited
// for other ranks. In this order: put_aside (any thread) and add (what comm_calls.h read, one trace after the
// other), match, waits_of (any thread), write. One thread, but for that.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "../pass/facts.h"
#include "../pass/trace_pass.h"
#include "comm_calls.h"

namespace gpushim::analysis {

class RunDb;
struct CollectiveRun;

class Collectives {
  public:
    // What memory has no room for lies in a file of that folder.
    explicit Collectives(const std::filesystem::path& folder, size_t in_memory = Aside::kInMemory);
    ~Collectives();

    // What was read of a trace, until it is added. Any thread.
    void put_aside(std::vector<CommSeat>& read);
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
