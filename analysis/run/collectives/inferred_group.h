// Which ranks a collective is of, where no trace says so: profiles of PyTorch before 2.2 do not. Where every
// rank of the job is here, all launched the same collectives in the same order, and these end together on all
// of them, again and again, they are of all ranks: who waits for others cannot end before them. Not if they
// are on several streams, for each communicator has one of its own: groups that are alike end together, too,
// where a step keeps them in step.
//
//   rank 0   [████████]      [██]    [██████]      ends: the same time apart in each, by whatever clocks
//   rank 1       [████]   [█████]  [████████]
//
// One thread.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "comm_calls.h"

namespace gpushim::analysis {

// By uid, and by rank_id those that are alone.
using SeatsByName = std::map<std::pair<std::string, int64_t>, std::vector<CommSeat>>;

// Calls that tell no communicator get one with all ranks of the run, if they are of one. Else nothing
// changes.
void infer_group_of_all(const std::vector<const TraceFacts*>& traces, SeatsByName& seats, Aside& aside);

}  // namespace gpushim::analysis
