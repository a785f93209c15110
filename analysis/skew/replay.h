// What the ranks of a communicator would have done without one of them: their collectives begun when the last
// of the others was ready. Each rank's own work is measured from the end of the collective that it came
// after, by that rank's clock; so what computes beside a collective is counted once, however many collectives
// are in flight.
//
//   rank 0   ──10 A is ready──12 B is ready       A waits for rank 1 until 20 and takes 1; B follows at 24.
//   rank 1   ────────────20 A is ready──24 B      Without rank 1: A at 10, B at 12. It costs 24 - 12 = 12
//
// From the end of A to that of B rank 1's own work is 3 and rank 0's is 0: added to the 10 before A that were
// 13, for rank 0 did the work for B while it waited in A.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gpushim::analysis {

struct RankReady {
    int64_t after;        // index of the collective that its work came after
    int64_t own_ns;       // from that one's end until it was ready
    int64_t behind = -1;  // index of the one that it stood behind in its stream; -1: none
};
struct Meeting {
    int64_t transfer_ns;              // the shortest of all ranks
    std::vector<RankReady> arrivals;  // by rank; empty: not known
};

// By meeting and rank, how much earlier that meeting, beyond the one before it, would have ended without the
// rank. Empty where it is not known: what is not known breaks the chain, and the next one begins anew.
std::vector<std::vector<int64_t>> saved_without_each(std::span<const Meeting> meetings);

}  // namespace gpushim::analysis
