// Rows of `gap` as they were written: who sums them up need not read them again, which takes half as long as
// writing them. Plain values.
#pragma once

#include <cstdint>
#include <vector>

#include "../../idle/cause.h"

namespace gpushim::analysis {

struct IdlePart {
    int64_t ns, drained_ns;  // drained_ns: in gaps that a wait of the host had made
    int64_t longest_ns;      // of its pieces
    int32_t pieces;
    Cause cause;
};

struct WrittenGaps {  // of one GPU, in order of their rows, which follow each other
    int64_t gpu_id;
    int64_t first_rowid = 0;
    std::vector<int32_t> steps = {};  // of each
    std::vector<IdlePart> parts = {};
};

}  // namespace gpushim::analysis
