// What each GPU did in the steps that count, whole ones that were timed; where there are none, in all that is
// known. Sums of the same rows, so busy and idle are 1 and the causes are the idle time, to the nanosecond.
//
//   steps      |──1──|──2──|──3──|──4──|
//   timed         |──────────────|           2 and 3 are whole: what is said of a step is of these
//
// One thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../busy/sampled.h"
#include "gpu_label.h"
#include "source.h"

namespace gpushim::analysis {

struct ShareRange {
    double share, low, high;
};

struct GpuFigures {
    int64_t gpu_id;
    GpuLabel label;
    std::string basis;             // steps, slices, spans; empty: nothing is known
    bool is_beside_steps = false;  // see v_gpu_beside_steps
    int64_t steps = 0, window_ns = 0;
    int64_t busy_ns = 0, idle_ns = 0, waiting_ns = 0, productive_ns = 0;
    int64_t exposed_transfer_ns = 0, memory_ns = 0;  // with idle, waiting and productive: the window
    int64_t compute_ns = 0, copy_ns = 0, comm_ns = 0, exposed_ns = 0;
    std::string wait_why;                       // how long it waited is not known; empty: it is
    int64_t busy_low_ns = 0, busy_high_ns = 0;  // certainly; hold busy_ns
    int64_t busy_likely_low_ns = 0, busy_likely_high_ns = 0;
    std::map<std::string, int64_t> idle_by_cause, idle_by_group;
    int64_t drained_ns = 0;    // of idle, after a wait of the host had emptied the queue
    int64_t as_it_ran_ns = 0;  // its steps with our events in them; 0: not known
    int64_t windows = 0;
    bool sampled = false;  // so little is timed of what it is said of that the rest is an estimate
    double timed_share = 1;
    double timed_steps_share = 1;  // of the steps that were asked for
    double steps_of_run = 0;       // their share of the run's time; 0: not known, or a part was asked for
    std::optional<double> run_low, run_high;        // of the whole run's busy share, in 95 of 100 cases
    std::optional<double> run_lowest, run_highest;  // for certain
    // What is for certain is that; false: an estimate, as of a kind of GPU that was never calibrated.
    std::optional<bool> bounds_hold;

    bool is_known() const { return window_ns > 0; }
    double of_window(int64_t ns) const { return static_cast<double>(ns) / static_cast<double>(window_ns); }
    bool knows_waits() const { return wait_why.empty(); }
    bool causes_sum() const;
    // With what is likely, in 95 of 100 cases, of operations that did not queue, and what windows say of the
    // time between them. Without steps they stand for the run: then busy and idle hold the whole run's, too.
    // Where steps are the run and its windows tell more than the few that are whole, they tell of these.
    // Peers that are not in the run have our events, too, for which this one waited: nobody knows how long,
    // but hardly longer than its own took.
    ShareRange busy() const;
    ShareRange idle() const;
    ShareRange productive() const;
    ShareRange waiting() const { return with_rest(range(waiting_ns, parts_waiting, false)); }
    // The same for certain. How long a collective waited has no bounds.
    ShareRange certainly_busy() const { return certainly(busy_ns, busy(), run_lowest.value_or(0)); }
    ShareRange certainly_productive() const { return certainly(productive_ns, productive(), 0); }

    std::vector<PartOf> parts_busy, parts_productive, parts_waiting;  // a row for each step

  private:
    ShareRange range(int64_t ns, const std::vector<PartOf>& parts, bool has_bounds) const;
    ShareRange certainly(int64_t ns, ShareRange likely, double whole_run_low) const;
    bool speaks_for_the_run() const { return sampled && basis != "steps"; }
    ShareRange with_rest(ShareRange range) const;
    ShareRange as_the_run_tells(ShareRange range) const;
};

// Those that are known, without those that are beside steps: they are no part of one.
std::vector<const GpuFigures*> in_means(const std::vector<GpuFigures>& all);

// The five parts that each instant is in one of, over GPUs that are in means: they add up to 1.
struct MeanShares {
    double productive = 0, waiting = 0, exposed = 0, memory = 0, idle = 0;
    int64_t gpus = 0;
    std::string wait_why;  // waiting is not known apart from exposed; empty: it is

    bool knows_waits() const { return wait_why.empty(); }
};
std::optional<MeanShares> mean_shares(const std::vector<GpuFigures>& all);

// Of their time, in which nothing that was recorded ran though work was queued: something else held the GPU,
// or the work was queued behind what was called before the recording.
double unexplained_share(const std::vector<GpuFigures>& all);
constexpr double kMuchUnexplained = 0.2;  // from here on it is not said that the GPU was idle

// Those of which most is lost first.
const std::vector<GpuFigures>& gpu_figures(const ReportSource& source);  // kept with it

}  // namespace gpushim::analysis
