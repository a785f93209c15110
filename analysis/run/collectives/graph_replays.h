// How often calls of NCCL ran that were captured into a graph. The trace does not say which graph a call went
// into: it is the first one that was instantiated behind the capture, if that has exactly as many kernels of
// NCCL as were captured for it. Else it is not known. One thread.
//
//   ──capture[AllReduce, AllReduce]──instantiate──launch──launch──launch──      each ran 3 times
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace gpushim::analysis {

struct CommSeat;
struct TraceFacts;

// kernels_of_group: kernels that were captured, by group.
void count_replays(const TraceFacts& facts, const std::map<int64_t, int64_t>& kernels_of_group,
                   std::vector<CommSeat>& seats);

}  // namespace gpushim::analysis
