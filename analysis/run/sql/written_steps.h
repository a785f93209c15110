// Rows about steps as they were written: who sums them up need not read them again, which takes half as long
// as writing them. Plain values.
#pragma once

#include <cstdint>
#include <vector>

#include "../../idle/cause.h"
#include "../../trace/call.h"

namespace gpushim::analysis {

struct IdlePart {
    int64_t ns, drained_ns;  // drained_ns: in gaps that a wait of the host had made
    int64_t longest_ns;      // of its pieces
    int32_t pieces;
    Cause cause;
};

struct WrittenRank {
    struct Counted {  // as v_counted_step has them
        int64_t number, begin_ns, dur_ns;
        int32_t step;
    };
    int64_t rank_id;
    bool are_slices = false;
    std::vector<Counted> steps = {};  // in order
};

struct WrittenGpu {  // each in order of its rows; those of `gap` follow each other
    struct InStep {  // `gpu_step`
        int32_t step;
        int64_t window_ns, busy_low_ns, busy_high_ns, busy_likely_low_ns, busy_likely_high_ns;
        int64_t own_work_ns, first_launch_ns;  // kNotRecorded: nothing was launched in it
    };
    struct Activity {
        int32_t step;
        uint32_t classes;
        int64_t ns;
    };
    int64_t gpu_id;
    bool launches_in_steps = false;
    std::vector<InStep> steps = {};
    std::vector<Activity> activity = {};
    std::vector<int32_t> gap_steps = {};  // of each
    std::vector<IdlePart> gaps = {};
    int64_t first_gap = 0;  // its rowid
};

struct WrittenRun {
    std::vector<WrittenRank> ranks = {};
    std::vector<WrittenGpu> gpus = {};  // in order of gpu_id
};

}  // namespace gpushim::analysis
