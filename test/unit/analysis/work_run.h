// Made runs of one rank that computes all of its steps, but for what the GPU copies.
#pragma once

#include "run_rows.h"

namespace made {

inline constexpr int64_t kWorkStepNs = 20 * kMs;

inline int64_t of_step(double share) {
    return static_cast<int64_t>(share * static_cast<double>(kWorkStepNs));
}

inline RunRows busy_run(int64_t only_copies_ns = 0, int64_t staging_ns = 0) {
    RunRows run;
    run.rank(0).steps(0,
                      {.ran = {{kCompute, kWorkStepNs - only_copies_ns - staging_ns}, {kH2d, only_copies_ns}},
                       .idle = {{"copy_staging", staging_ns}}});
    return run;
}

}  // namespace made
