// The rows that a run's figures are of, as v_gpu_basis has them: each table is gone through once, in order,
// where the view looks for each row by its key. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "counted_steps.h"

namespace gpushim::analysis {

struct StepsOfRank {  // that count
    struct Counted {
        int64_t step, number;
    };
    std::vector<Counted> steps = {};  // in order
    bool are_slices = false;
    std::optional<int64_t> begin_ns = {};  // of the first one, of slices none

    void add(int64_t step, int64_t number, std::optional<int64_t> from_ns);
    // All windows were over by then: start-up and warm-up say nothing of steps.
    bool begin_behind(std::optional<int64_t> timed_until_ns) const;
};

struct BasisOfGpu {
    int64_t rank_id = -1, latency_ns = 0, kernel_gap_ns = 0;
    bool is_unlike = false;  // its steps, to most
    bool is_unused = false;
    std::optional<int64_t> timed_until_ns = {};
};

// All that is asked of the run for that.
struct BasisFacts {
    explicit BasisFacts(sqlite3* run);
    BasisFacts(sqlite3* run, WrittenRun& all);  // which must outlive it: in place of tables

    sqlite3* run;
    WrittenRun* written = nullptr;
    std::unordered_map<int64_t, StepsOfRank> ranks;
    std::unordered_map<int64_t, BasisOfGpu> gpus;
};

// By gpu_id and step, with their bounds and what is known of their GPU. `totals`: gets one for each GPU that
// has some, with what they are. What is written is not asked of the run, and its rows of steps are gone then.
std::vector<GpuInStep> rows_of_basis(const BasisFacts& facts, std::vector<GpuTotal>& totals);

}  // namespace gpushim::analysis
