// The last stretch of a run of which all but a tenth is explained by pieces of a period. Pieces that resemble
// each other by chance, or belong to a start-up, lie before it: what separates them weighs more than they do.
//
//   pieces   = = x x x x x x x x = x x x = = = = = = = = x = = = = = =        = explained, x not
//   ending                               |───────────────────────────|
//
// Pieces come nearly in order of time. Constant memory; one thread.
#pragma once

#include <cstdint>

namespace gpushim::analysis {

class Ending {
  public:
    static constexpr int64_t kOfTen = 9;  // tenths of the launches have to be explained

    // A piece that is explained, in launches since the run began, and when it began.
    void add(int64_t from, int64_t to, int64_t from_ns);

    int64_t pieces() const { return pieces_; }  // that are explained
    int64_t from_ns() const { return from_ns_; }
    // Of all launches from its begin to the end of the run, which has so many.
    double explained_share(int64_t launches_of_run) const;

  private:
    int64_t pieces_ = 0, launches_ = 0, from_ns_ = 0;
    int64_t from_ = 0, to_ = 0;
    int64_t score_ = 0;  // what is explained and what is not, weighed; below 0 it begins again
};

}  // namespace gpushim::analysis
