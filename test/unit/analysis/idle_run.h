// A made run of one rank whose GPU is idle in every step.
#pragma once

#include "run_rows.h"

namespace made {

constexpr int64_t kIdleStepNs = 20 * kMs;

// One rank, steps of 20 ms, idle for so much by that cause.
inline RunRows idle_run(const char* cause, int64_t ns) {
    RunRows run;
    run.rank(0).steps(0, {.ran = {{kCompute, kIdleStepNs - ns}}, .idle = {{cause, ns}}});
    run.change("UPDATE gpu SET memory_peak_bytes = 13 << 30");  // no room for a larger batch
    return run;
}

}  // namespace made
