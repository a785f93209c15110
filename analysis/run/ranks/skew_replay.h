// What each rank of a communicator costs the others: its instances, with the ways that led to each on each
// rank, replayed without one rank after the other (skew/replay.h). One thread.
#pragma once

#include <vector>

#include "../../skew/replay.h"
#include "../collectives/run_communicator.h"

namespace gpushim::analysis {

class RunDb;

class SkewReplay {
  public:
    SkewReplay(const RunCommunicator& comm, const RunDb& run);

    // False: the traces do not say what waits for what.
    bool is_known() const { return is_known_; }
    // By instance and rank; a row is empty where it is not known.
    std::vector<std::vector<int64_t>> at_most_saved() const;
    // By instance; nothing where it is not known how far the host would have let the others come.
    Savings saved_if_like_others(int rank) const;

  private:
    Savings by_instance(const Savings& by_meeting) const;

    bool is_known_ = true, has_others_ = false;
    size_t instances_;
    std::vector<size_t> instance_of_;  // by meeting
    Histories all_;
};

}  // namespace gpushim::analysis
