// What the ranks of a communicator would have done without one of them, or if that one were as fast as the
// others. Each rank brings the ways by which it came to each collective: from the launches and the ends of
// those before, on its GPU and on its host (run/pass/work_paths.h). A collective begins where the last rank
// is there, and so the next one follows; each rank's host launches as soon as it can.
//
//   rank 0   ──10 A is ready──12 B is ready       A waits for rank 1 until 20 and takes 1; B follows at 24.
//   rank 1   ────────────20 A is ready──24 B      Without rank 1: A at 10, B at 12. It costs 24 - 12 = 12,
//                                                 or less: if rank 0 cannot launch B before 18, 24 - 18
//
// Each rank's times are of its own clock. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gpushim::analysis {

struct ReplayPath {
    int32_t meeting;  // that it leads from
    bool is_launch;   // from when this rank launched it; else from its end
    int64_t own_ns;
    int64_t firm_ns;  // without what may have been a wait that nothing says
};
// A collective on one rank.
struct RankMeeting {
    bool is_known = false;
    int32_t piece = 0;                  // times of one piece are of one clock
    int64_t launch_ns = 0, end_ns = 0;  // as it was
    uint64_t kind = 0;                  // the same calls before it have the same
    uint32_t first = 0;  // into RankHistory::paths: those to its launch, then those to its begin
    uint16_t launches = 0, arrivals = 0;
};
struct RankHistory {
    std::vector<RankMeeting> meetings;
    std::vector<ReplayPath> paths;

    std::span<const ReplayPath> launch(size_t meeting) const {
        return std::span(paths).subspan(meetings[meeting].first, meetings[meeting].launches);
    }
    std::span<const ReplayPath> arrival(size_t meeting) const {
        const RankMeeting& at = meetings[meeting];
        return std::span(paths).subspan(at.first + at.launches, at.arrivals);
    }
};
struct Meeting {
    int64_t transfer_ns;  // the shortest of all ranks
    int64_t step;         // in which the first rank called it
};
struct Histories {
    std::vector<Meeting> meetings;
    std::vector<RankHistory> ranks;  // each with all meetings
};

// By meeting, how much earlier it, beyond the one before it, would have ended. None: not known; that breaks
// the chain, and the next one begins without it.
using Savings = std::vector<std::optional<int64_t>>;

// Without that rank, at most: what the host may have waited for is left out of its time.
Savings at_most_saved_without(const Histories& all, size_t rank);
// If that rank were one like the others: in its place one of them, by turns, does what it did in another step
// in which it made the same calls. Where all are as fast, and each varies, that is nothing.
Savings saved_if_like_others(const Histories& all, size_t rank);

}  // namespace gpushim::analysis
