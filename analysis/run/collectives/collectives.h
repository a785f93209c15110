// The collectives of all ranks of a run: read from each trace, matched, and then asked by the parts how long
// a kernel of one waited for other ranks. In this order: read (one trace after the other)
// or read_all, match, waits_of (any thread), write. One thread, but for that.
#pragma once

#include <map>
#include <memory>
#include <span>

#include "../pass/facts.h"
#include "../pass/trace_pass.h"

namespace gpushim::analysis {

class RunDb;
struct CollectiveRun;

class Collectives {
  public:
    Collectives();
    ~Collectives();

    void read(const TraceFacts& facts);                                 // they must outlive this object
    void read_all(std::span<const TraceFacts> all, size_t processors);  // the same, several at once
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
