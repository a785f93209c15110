// The first pass over a run: which keys come back, how often and how evenly. Its memory is bounded, however
// long the run: where more than 4096 keys are met, the rarest are dropped, and of equally rare ones always
// the same, so that those kept are counted from their first time on. One thread.
//
//   a b c c a b c c a b c c          a: 3 times, every 4th token    c: 6 times, every 1st or 3rd
#pragma once

#include <unordered_map>
#include <vector>

#include "keys.h"

namespace gpushim::analysis {

struct Candidate {
    uint64_t key = 0;
    KeyKind kind = KeyKind::exact;
    bool is_copy = false;
    int64_t hash = 0;  // of the token, for its name
    int64_t count = 0;
    int64_t first_ns = 0, last_ns = 0;
    int64_t last_index = 0, spacing = 0;  // in tokens: the time between steps strays, their length does not
    int64_t steady = 0;                   // how often a spacing was that of the time before, within a tenth
    double mean_ns = 0, squares = 0;      // of the spacing in time (Welford)

    int64_t after_syncs = 0;  // how often it was the first after a sync

    // Where a step begins best: 2 at its input, else 1 at what follows the sync that ended the step before.
    int preference() const;
    // 0: known by itself; 1: by a cue before it; 2: by the operation before it, which a rare kernel
    // displaces.
    int exactness() const;
    double variation() const;  // coefficient of, of the spacing in time
    double steady_share() const;
};

class Candidates {
  public:
    static constexpr size_t kMost = 4096;
    void add(const Token& token, const KeySet& keys);
    int64_t tokens() const { return index_; }
    size_t size() const { return table_.size(); }
    bool has_dropped() const { return has_dropped_; }
    // The best anchor for every count there is, at most `most`: first those that begin with an input or
    // follow a sync, then the steadiest.
    std::vector<Candidate> best(size_t most) const;

  private:
    void note(const Token& token, const KeySet& keys, KeyKind kind);
    void drop_rarest();
    std::unordered_map<uint64_t, Candidate> table_;
    int64_t index_ = 0;
    bool has_dropped_ = false;
};

}  // namespace gpushim::analysis
