// Which kernels NCCL launched for which of its calls, by the group that both carry. Where a group holds calls
// on several streams or devices, a call has the kernels of its own stream, else of its communicator's device;
// kernels that calls of two communicators could have launched are nobody's. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace gpushim::analysis {

struct CommSeat;
struct TraceFacts;

// Fills in what calls have of kernels: when they ran, where all of them have device times. Returns of groups
// that were captured into a graph how many kernels they launched.
std::map<int64_t, int64_t> link_kernels(const TraceFacts& facts, std::vector<CommSeat>& seats);

}  // namespace gpushim::analysis
