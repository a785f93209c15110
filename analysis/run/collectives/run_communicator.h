// One communicator over all traces of a run: its instances, and how long each rank waited in them. Matched
// once; read-only from then on, any thread.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../../collective/wait.h"
#include "comm_calls.h"
#include "instance_list.h"
#include "run_clocks.h"

namespace gpushim::analysis {

struct InstanceTimes {
    std::optional<int64_t> transfer_ns;
    TransferBy by = TransferBy::shortest;         // the transfer
    std::vector<std::optional<int64_t>> wait_ns;  // by part
};

struct RunCommunicator {
    std::string uid, parent;
    int ranks = 0;
    std::vector<CommSeat> seats;    // those that were seen, by rank
    std::vector<int> seat_of_rank;  // -1: not seen
    std::vector<int> clock_of_rank;
    std::vector<int64_t> no_offsets;  // by rank: 0
    InstanceList instances;
    std::vector<CollectiveMismatch> mismatches;
    int64_t left_out = 0;

    size_t seat_index(const RankPart& part) const {
        return static_cast<size_t>(seat_of_rank[static_cast<size_t>(part.rank)]);
    }
    const CommSeat& seat(const RankPart& part) const { return seats[seat_index(part)]; }
    const CommCall& call(const RankPart& part) const { return instances.call(part); }
    bool all_seen() const { return seats.size() == static_cast<size_t>(ranks); }
    bool is_known() const { return !uid.empty(); }
};

// Seats of one uid, of all traces; of a rank that is there twice the first counts. Their calls may lie in
// `of_traces`, and those of what comes of them in `of_instances`.
RunCommunicator match_communicator(std::vector<CommSeat> seats, const RunClocks& clocks, Aside& of_traces,
                                   Aside& of_instances);

// By rank, what to add to its times; those that are not in the instance are not set. None: clocks that
// nothing compares. `place` is for the caller to keep as long as the answer.
std::optional<std::span<const int64_t>> clock_offsets(const RunCommunicator& comm, const RunClocks& clocks,
                                                      const CollectiveInstance& instance,
                                                      std::vector<int64_t>& place);
// How wrong a difference between two of its ranks' times may be. None: as above.
std::optional<int64_t> clock_error_ns(const RunCommunicator& comm, const RunClocks& clocks);

// `clock_error_ns`: waits along edges compare clocks, and those that are not above it are not known.
InstanceTimes times_of(const RunCommunicator& comm, const CollectiveInstance& instance,
                       const RunClocks& clocks, std::optional<int64_t> clock_error_ns);

}  // namespace gpushim::analysis
