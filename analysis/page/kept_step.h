// The steps of which a run's database has kept single calls (analysis/run/ranks/together), with the ranks
// that are drawn under each other in them; of a run without steps an excerpt.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../report/source.h"
#include "../trace/plausible.h"

namespace gpushim::analysis {

struct RankInStep {
    int64_t rank_id, step, number;     // step: index; number: as people know it
    int64_t begin_ns, dur_ns;          // on the clock of all
    int64_t offset_ns;                 // to add to its own times for that
    int64_t left_out;                  // calls that are not kept
    int64_t first_ns, last_ns;         // of all its steps, on the clock of all
    std::string rank;                  // "rank 3"
    std::string host, clock, step_by;  // as together_step has them
    std::optional<int64_t> clock_error_ns, own_work_ns;
    bool is_straggler;
    bool is_excerpt = false;  // of no step

    int64_t end_ns() const { return begin_ns + dur_ns; }
    // A time of its own on the clock of all.
    int64_t here(int64_t own_ns) const { return plausible_time(plausible_time(own_ns) + offset_ns); }
};

struct KeptStep {
    std::string why;   // typical, worst, excerpt
    int64_t of_ranks;  // that have this step
    std::vector<RankInStep> ranks;

    // No step, but the time of which the calls of all these ranks are kept.
    bool is_excerpt() const { return why == "excerpt"; }
    int64_t begin_ns() const;
    int64_t end_ns() const;
    struct Ends {
        const RankInStep *most, *least;
    };
    std::optional<Ends> by_work() const;  // of their own; none: not known of all, or about the same
};

// Typical first; an excerpt is the only one. Empty: the run has kept none.
std::vector<KeptStep> kept_steps(const ReportSource& source);

}  // namespace gpushim::analysis
