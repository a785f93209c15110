// Samples of NVML of a GPU while steps ran; of all the time where the run has none.
#pragma once

#include <string_view>

#include "../pass/facts.h"

namespace gpushim::analysis {

// By the reasons why its clock was held back: it is low because of that alone, and says nothing of how quick
// the GPU is.
constexpr bool nothing_ran(int64_t throttle_reasons) { return throttle_reasons == 1; }

// sql: of a device ?1, from ?2 until ?3.
inline Query nvml_samples(const TraceFacts& facts, const Gpu& gpu, std::string_view sql) {
    Query rows = facts.trace->base.prepare(sql);
    const bool has_steps = !facts.are_slices && !facts.steps.empty();
    rows.bind(1, gpu.device_id);
    rows.bind(2, has_steps ? facts.steps.front().begin_ns : INT64_MIN);
    rows.bind(3, has_steps ? facts.steps.back().end_ns : INT64_MAX);
    return rows;
}

}  // namespace gpushim::analysis
