// Made runs of one rank whose GPU is idle in its steps.
#pragma once

#include <map>
#include <string>

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

// 19 steps are idle for 100 us by one cause, and one for 40 ms by that or another; all so long beside that.
inline RunRows but_for_one(const char* usual, const char* once,
                           const std::map<std::string, int64_t>& beside = {}) {
    RunRows run;
    run.rank(0);
    for (int64_t step = 0; step < RunRows::kSteps; ++step) {
        StepOf is = {.ran = {{kCompute, 19 * kMs}}, .idle = beside};
        is.idle[step == 8 ? once : usual] = step == 8 ? 40 * kMs : 100 * kUs;
        run.step(0, step, is);
    }
    return run;
}

// Waits of the host in every step, after it had read a number or not.
inline RunRows& add_waits(RunRows& run, bool reads) {
    run.add("sync_stat", {{"rank_id", 0},
                          {"api", "cuStreamSynchronize"},
                          {"target_kind", "stream"},
                          {"calls", RunRows::kSteps},
                          {"in_steps", RunRows::kSteps},
                          {"steps", RunRows::kSteps}});
    if (reads)
        run.add("transfer_pattern", {{"gpu_id", 0},
                                     {"pattern", "small_d2h_sync"},
                                     {"count", RunRows::kSteps},
                                     {"bytes", 4 * RunRows::kSteps},
                                     {"ns", kMs},
                                     {"steps", RunRows::kSteps}});
    return run;
}

}  // namespace made
