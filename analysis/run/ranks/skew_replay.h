// What each rank of a communicator costs the others: its instances, with the ways that led to each on each
// rank, replayed without one rank after the other (skew/replay.h). One thread.
#pragma once

#include <vector>

#include "../../skew/replay.h"
#include "../collectives/run_communicator.h"
#include "../pass/work_paths.h"

namespace gpushim::analysis {

class RunDb;

// How many collectives are replayed: what memory holds.
struct ReplayLimits {
    size_t of_a_rank = kMostReplayed;  // of all its communicators
    size_t of_all_ranks = 2'000'000;   // of a communicator: collectives times ranks
};
// The first so many of a communicator's collectives.
struct ReplayedPart {
    int64_t first, of;
};

class SkewReplay {
  public:
    SkewReplay(const RunCommunicator& comm, const RunDb& run, const ReplayLimits& limits = {});

    // What was replayed, where the limits left something out.
    std::optional<ReplayedPart> part() const { return part_; }

    // False: the traces do not say what waits for what.
    bool is_known() const { return is_known_; }
    // By instance and rank; a row is empty where it is not known.
    std::vector<std::vector<int64_t>> at_most_saved() const;
    // By instance; nothing where it is not known how far the host would have let the others come.
    Savings saved_if_like_others(int rank) const;

  private:
    Savings by_instance(const Savings& by_meeting) const;

    bool is_known_ = true, has_others_ = false;
    std::optional<ReplayedPart> part_;
    size_t instances_;
    std::vector<size_t> instance_of_;  // by meeting
    Histories all_;
};

}  // namespace gpushim::analysis
