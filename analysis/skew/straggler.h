// Which rank makes the others wait, what it costs the job, and what it is that takes it longer. No clock of
// one rank is compared with another's: own work is the time since the rank's previous collective on the same
// communicator ended, and every collective sets all ranks to the same start again.
//
//   rank 0   ──own 10──[████ waits 3 ██]          own work w, late = w - least w, wait = own duration - the
//   rank 1   ────own 13────[██ 0 ██]              shortest. If only rank 1 were as quick as the next slowest,
//   rank 2   ───own 11───[███ waits 2 █]          the job would save 13 - 11 = 2.
//
// Where compute goes on during a collective, own work lies under two collectives at once; what it would save
// comes from a replay then. Pure; any thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "../collective/match.h"

namespace gpushim::analysis {

struct RankWork {
    int64_t own_ns;       // w: from the end of the previous collective to the start of this one
    int64_t duration_ns;  // of the collective on this rank
};
struct WorkBefore {
    int64_t step;
    std::vector<RankWork> ranks;  // all of the communicator, by rank
    // By rank, from a replay (replay.h), where compute goes on beside collectives; empty: it does not.
    std::vector<int64_t> replayed_ns = {};

    int64_t late_ns(size_t rank) const;
    int64_t wait_ns(size_t rank) const;
    int64_t wait_sum_ns() const;
    // Saved if this rank were as quick as the next slowest; 0 for all but the slowest. Of a replay below 0
    // where it makes up for what was counted before.
    int64_t saved_ns(size_t rank) const;
};

bool is_timed(const CollectiveInstance& instance);  // on all ranks, which met in it
// Of two instances of one communicator, the second in that step. None: one is missing between them, or one of
// them is not timed, or was captured: its replays lie anywhere behind it.
std::optional<WorkBefore> own_work(const CollectiveInstance& before, const CollectiveInstance& after,
                                   int64_t step);

struct RankBlame {
    int rank;
    int64_t saved_ns;       // of the job's time, over all instances
    int64_t largest_steps;  // in which it had the most own work, alone
    double p_value;         // that often or more, were all ranks alike
    int64_t late_sum_ns, wait_sum_ns;
};
struct Blame {
    int64_t steps;
    int64_t lost_gpu_ns;           // sum of all waits
    double mirror_disagreement;    // of late and wait, as a share; 0: they mirror each other
    bool mirror_broken;            // something else than lateness decides: streams, contention
    std::vector<RankBlame> ranks;  // those that were compared
    std::optional<RankBlame> straggler;
    std::optional<RankBlame> suspect;  // always last, in fewer steps than fewest_steps
};

// `compared`: ranks that do the same work (the same set of kernels); empty: all. Savings are in any case
// measured against the next slowest of all ranks: that one the job would wait for.
Blame blame(std::span<const WorkBefore> work, int64_t step_time_ns, std::span<const int> compared = {});

// So many steps a rank has to be last in, of so many ranks, to be no chance.
int64_t fewest_steps(size_t ranks);

// Stragglers of a part of the run only: windows of so many steps that name a rank.
constexpr int64_t kTransientSteps = 50;
struct Transient {
    int64_t first_step, last_step;
    RankBlame straggler;
};
std::vector<Transient> transient_stragglers(std::span<const WorkBefore> work, int64_t step_time_ns,
                                            std::span<const int> compared = {});

// Ranks with the same fingerprint of their kernels, in groups by rank.
std::vector<std::vector<int>> comparable_ranks(std::span<const uint64_t> fingerprints);

// P(at least `hits` of `trials`) at probability `p` each, summed term by term.
double binomial_tail(int64_t trials, int64_t hits, double p);

// What takes `rank` longer: the part whose excess over the median of the other ranks is the largest, if it
// alone covers most of the lateness.
struct WorkPart {
    std::string_view name;  // input_wait, host, copy, compute, start_delay, clocks, …
    std::vector<int64_t> by_rank_ns;
};
struct StragglerCause {
    std::string_view name;  // or "unattributed"
    double share;           // of the lateness; of the largest part also where that is not enough
};
std::optional<StragglerCause> cause_of(size_t rank, std::span<const int64_t> own_by_rank_ns,
                                       std::span<const WorkPart> parts);  // none: it is not late

}  // namespace gpushim::analysis
