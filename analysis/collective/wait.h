// How long a collective took to move its data, and how long each rank waited in it for the last one.
//
//   rank 0   ████████████████   own 16, waited 12      transfer: what the last one to come needed, the
//   rank 1         ██████████   own 10, waited  6      shortest of all durations: no clock is compared
//   rank 2               ████   own  4, waited  0
//
// That holds where all ranks meet (AllReduce, AllGather, ReduceScatter, AlltoAll, Barrier), each rank is
// there, and the kernel did nothing else; else there is no answer: not of one rank alone, which may have
// waited in each of its collectives. Broadcast, Reduce, Send and Recv make
// ranks wait along edges only. Pure; any thread.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "match.h"

namespace gpushim::analysis {

enum class TransferBy : uint8_t {
    shortest,   // clock-free
    last_start  // with aligned clocks
};

struct RankWait {
    int rank;
    int64_t own_ns, wait_ns;
};
struct CollectiveWait {
    int64_t transfer_ns;
    TransferBy by;
    std::vector<RankWait> ranks;

    int64_t wait_sum_ns() const;
    int64_t longest_own_ns() const;
};

std::optional<CollectiveWait> wait_in(const CollectiveInstance& instance);

// With clocks aligned: from the last start to the last end; a rank waits until the last start. `offset_ns` is
// what to add to a rank's times, by rank. None also where an end comes before the last start: the clocks or
// the match are wrong.
std::optional<CollectiveWait> aligned_wait_in(const CollectiveInstance& instance,
                                              std::span<const int64_t> offset_ns);
// Between first and last start. None where it is not above what the clocks may be off.
std::optional<int64_t> spread_ns(const CollectiveInstance& instance, std::span<const int64_t> offset_ns,
                                 int64_t clock_error_ns);

std::optional<int64_t> best_decile_ns(std::vector<int64_t> durations_ns);  // none: there are none

// Who may have waited for whom; with aligned clocks for how long. Empty where all meet.
struct WaitEdge {
    int waits, for_rank;
    std::optional<int64_t> wait_ns;
};
std::vector<WaitEdge> wait_edges(const CollectiveInstance& instance,
                                 std::optional<std::span<const int64_t>> offset_ns);

}  // namespace gpushim::analysis
