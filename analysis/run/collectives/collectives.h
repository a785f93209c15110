// The collectives of all ranks of a run: read from each trace, matched, and then asked by the parts how long
// a kernel of one waited for other ranks. In this order: read (one trace at a time), match, wait_of (any
// thread), write.
#pragma once

#include <map>
#include <memory>
#include <span>

#include "../pass/facts.h"

namespace gpushim::analysis {

class RunDb;
struct CollectiveRun;

class Collectives {
  public:
    Collectives();
    ~Collectives();

    void read(const TraceFacts& facts);  // they must outlive this object
    void match();
    // Of the kernel whose launch was entered then: how long it waited, from its start on. kNotRecorded: it is
    // no collective's, or not known.
    int64_t wait_of(int64_t rank_id, int64_t launch_enter_ns) const;
    const CollectiveRun& all() const;  // when they are matched
    void write(RunDb& run);            // when all traces' parts have written their rows, which it reads

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace gpushim::analysis
