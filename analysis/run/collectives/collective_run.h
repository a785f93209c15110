// What the rows of collectives are written from, and who writes which: each of these is given the whole run
// when its parts have written theirs. One thread.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "run_communicator.h"

namespace gpushim::analysis {

class RunDb;

struct StepShift {
    int32_t steps;  // what to add to the trace's steps to have the first trace's
    bool is_told;   // by a collective; else they are taken to begin with the same one
};

struct CollectiveRun {
    std::vector<const TraceFacts*> traces;
    std::vector<RunCommunicator> communicators;  // by uid
    RunClocks clocks;
    std::vector<StepShift> step_shifts;  // by trace
};

// What is known of a communicator beside its instances.
struct CommLink {
    std::optional<std::string> link;           // the weakest between two of its GPUs
    std::optional<double> bytes_per_s;         // of that
    std::optional<double> within_bytes_per_s;  // of the weakest between two of its GPUs on one host
    std::optional<double> best_bytes_per_s;    // of as many GPUs of these hosts as well joined as can be
    std::optional<bool> is_slow;               // its GPUs could be chosen so that it were faster
};
std::vector<CommLink> communicator_links(const CollectiveRun& all);  // by communicator

// Of a rank, as v_collective_sum adds up rows of instances.
struct CollectiveSum {
    double own_ns = 0, unknown_ns = 0;
    bool messages = false;
    std::optional<int64_t> ranks, parts;
};
using CollectiveSums = std::map<int64_t, CollectiveSum>;  // by rank_id

void write_instances(const CollectiveRun& all, RunDb& run, CollectiveSums& sums);
void write_custom(const CollectiveRun& all, RunDb& run,
                  CollectiveSums& sums);  // known by a kernel's name only
void write_sums(const CollectiveSums& sums, RunDb& run);
void write_communicators(const CollectiveRun& all, std::span<const CommLink> links, RunDb& run);
void write_stats(const CollectiveRun& all, std::span<const CommLink> links, RunDb& run);
void write_allreduce_check(const CollectiveRun& all, RunDb& run);  // reads collective_stat

// By nearest rank; none: there are no values. Sorts them.
std::optional<int64_t> percentile(std::vector<int64_t>& values, int hundredths);
// As most of their collectives say.
std::vector<StepShift> find_step_shifts(const CollectiveRun& all);

}  // namespace gpushim::analysis
