// What takes one rank of a communicator longer than the others: its steps' time by what the GPU was doing, or
// waiting for, beside that of the others. One thread.
#pragma once

#include <optional>

#include "../../skew/straggler.h"
#include "../collectives/collective_run.h"

namespace gpushim::analysis {

// By rank of the communicator, over the steps that all of them have whole. Empty: there is none.
//   input, host, copy, compute, start_delay, wait, clocks
// Of compute: start_delay, what ran while a collective could have started; clocks, what a slower clock makes
// the rest longer.
struct RankParts {
    size_t steps = 0;
    bool has_graphs = false;
    std::vector<int64_t> length_ns, own_ns,
        computing_ns;  // of the steps; of them, own work; kernels but NCCL's
    std::vector<WorkPart> parts;
};
RankParts rank_parts(const CollectiveRun& all, const RunCommunicator& comm, const RunDb& run);

// Ranks that do the same work have the same number: nine tenths of the time of each is in kernels that both
// have. Where kernels are not recorded all are taken for alike.
std::vector<uint64_t> kernel_fingerprints(const RunCommunicator& comm, const RunDb& run);

}  // namespace gpushim::analysis
